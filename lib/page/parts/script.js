// Shows entries as they land and keeps drafts. Everything works without it but that.
'use strict';
(() => {
  const one = (s, in_ = document) => in_.querySelector(s);
  const list = one('[data-live]');
  const form = one('form.composer');

  if (form) {
    const box = one('textarea', form);
    const slot = form.dataset.slot;
    // What was sent is no draft any more; what was refused came back in the page.
    const kept = JSON.parse(localStorage.getItem(slot) || 'null');
    if (kept && form.dataset.sent && kept.id === form.dataset.sent) localStorage.removeItem(slot);
    else if (kept && !box.value) box.value = kept.text;
    const keep = () => {
      if (box.value) localStorage.setItem(slot, JSON.stringify({ text: box.value, id: form.elements.id.value }));
      else localStorage.removeItem(slot);
    };
    box.addEventListener('input', keep);
    form.addEventListener('submit', keep);
    box.addEventListener('keydown', (e) => {
      const send = one('button.main', form);
      if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && !send.disabled) form.requestSubmit(send);
    });
  }
  if (!list || !window.EventSource) return;

  const atEnd = () => window.innerHeight + window.scrollY >= document.body.scrollHeight - 200;

  // The version goes with what is shown: whoever sends has seen the entries.
  const take = (html) => {
    const news = new DOMParser().parseFromString(html, 'text/html');
    const state = one('#state', news);
    one('#state').replaceWith(state);
    const turn = state.dataset.turn === 'true';
    const added = [...news.querySelectorAll('li.entry')].filter((li) => !document.getElementById(li.id));
    const follow = atEnd();
    added.forEach((li) => list.append(li));
    const last = one('ol[data-last]', news).dataset.last;
    if (last) list.dataset.last = last;
    document.querySelectorAll('input[name=version]').forEach((i) => { i.value = state.dataset.version; });
    if (form) {
      form.querySelectorAll('button').forEach((b) => { b.disabled = !turn; });
      one('#hint').textContent = state.dataset.hint;
    }
    const acts = one('.moderate');
    const edited = acts && (acts.contains(document.activeElement) ||
      [...acts.querySelectorAll('input, select')].some((i) => i.selectedIndex > 0 || i.value !== (i.defaultValue ?? i.value)));
    if (acts && !edited) acts.replaceWith(one('.moderate', news));
    document.title = document.title.replace(/^\(your turn\) /, '');
    if (turn) document.title = '(your turn) ' + document.title;
    one('#news').textContent = added.map((li) => one('article', li).getAttribute('aria-label')).join('; ') + (turn ? ' Your turn.' : '');
    if (follow && added.length) one('#end').scrollIntoView();
  };

  let busy = false;
  let again = false;
  const look = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      if (list.dataset.live === 'rooms') {
        const html = await (await fetch('/')).text();
        const fresh = one('[data-live]', new DOMParser().parseFromString(html, 'text/html'));
        const at = document.activeElement?.getAttribute('href');
        if (fresh) list.replaceChildren(...fresh.children);
        if (at) one(`[data-live] a[href="${CSS.escape(at)}"]`)?.focus();
      } else {
        const at = '/r/' + list.dataset.room.replaceAll('/', '%2F') + '/live?after=' + encodeURIComponent(list.dataset.last);
        const answer = await fetch(at);
        if (answer.ok) take(await answer.text());
      }
    } catch { /* it is asked for again with the next event */ }
    busy = false;
    if (again) { again = false; look(); }
  };
  const room = list.dataset.room;
  const source = new EventSource('/events' + (room ? '?room=' + encodeURIComponent(room) : ''));
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED) one('#lost').textContent = 'This page is not live any more. Load it anew to see what is new.';
  });
  ['ready', 'floor', 'reset'].forEach((kind) => source.addEventListener(kind, look));
})();
