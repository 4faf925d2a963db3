// driver: drives Chromium for cmd/browser_test.go. A line of JSON comes in, a line goes out, in turns.
//
//   {"open": NAME, "options": {...}}        a browser of its own for somebody, with playwright's options of a context
//   {"on": NAME, "run": CODE, "args": [..]} runs CODE with page, context and args, and answers with what it returns
//   {"seen": true}                          what was seen since it was last asked for: requests and complaints
//
// The answer is {"value": ...} or {"error": ...}. A complaint is whatever should not be: a message of the console, a
// dialog, a request that leaves the server, a page without its policy.
import { chromium } from 'playwright-core';
import { createInterface } from 'node:readline';

const [, , origin, executablePath] = process.argv;
const browser = await chromium.launch({
  executablePath,
  args: [
    '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  ],
});
const open = {};
let requests = [];
let complaints = [];

const policy = ["default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'"];

async function start(name, options) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  const complain = (what) => complaints.push(`${name}: ${what}`);
  context.on('request', (r) => {
    requests.push({ who: name, url: r.url(), method: r.method(), referer: r.headers().referer || '' });
    if (new URL(r.url()).origin !== origin) complain(`a request to ${r.url()}`);
  });
  context.on('response', (r) => {
    if (!r.request().isNavigationRequest() || r.status() === 303) return;
    const csp = r.headers()['content-security-policy'] || '';
    for (const part of policy) if (!csp.includes(part)) complain(`${r.url()} is without ${part}`);
  });
  context.setDefaultTimeout(15000);
  const page = await context.newPage();
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') complain(`${m.type()}: ${m.text()}`); });
  page.on('pageerror', (e) => complain(`error: ${e.message}`));
  page.on('dialog', (d) => { complain(`a dialog: ${d.message()}`); d.dismiss(); });
  open[name] = { context, page };
}

async function answer(ask) {
  if (ask.open) return start(ask.open, ask.options);
  if (ask.seen) {
    const seen = { requests, complaints };
    [requests, complaints] = [[], []];
    return seen;
  }
  const { page, context } = open[ask.on];
  const run = new Function('page', 'context', 'args', `return (async () => { ${ask.run} })()`);
  return run(page, context, ask.args || []);
}

for await (const line of createInterface({ input: process.stdin })) {
  let out;
  try {
    out = { value: (await answer(JSON.parse(line))) ?? null };
  } catch (e) {
    out = { error: String(e.message || e) };
  }
  process.stdout.write(JSON.stringify(out) + '\n');
}
await browser.close();
