package page

import (
	"regexp"
	"strings"
	"testing"
)

// What an entry may become: these elements, with these attributes.
var (
	tag     = regexp.MustCompile(`<(/?)([a-zA-Z!?][^\s/>]*)([^>]*)>`)
	allowed = regexp.MustCompile(`^(?:p|h[4-6]|em|strong|del|a|ul|ol|li|pre|code|blockquote|hr|br|table|thead|tbody|tr|th|td)$`)
	attr    = regexp.MustCompile(`^(?: (?:href="(?i:https?:|mailto:)[^"]*"|href="[^":]*(?:[/?#][^"]*)?"|rel="noopener noreferrer nofollow"|title="[^"<>]*"|tabindex="0"|` +
		`align="(?:left|right|center)"|class="language-[^"<>]*"|start="\d+"))*$`)
)

// safe reports what of a page must not be there, "" when all is well.
func safe(html string) string {
	for _, m := range tag.FindAllStringSubmatch(html, -1) {
		if !allowed.MatchString(m[2]) || m[1] == "" && !attr.MatchString(m[3]) {
			return m[0]
		}
	}
	if depth := regexp.MustCompile(`<a [^>]*>[^/]*<a `).FindString(html); depth != "" {
		return depth
	}
	if rest := tag.ReplaceAllString(html, ""); strings.ContainsAny(rest, "<") {
		return rest
	}
	return ""
}

var attacks = []string{
	"![[![x]\xff\x7favascript:1)](javascript:2)](javascript:3)", // a link in a picture, found by fuzzing
	"<script>alert(1)</script>", "<SCRIPT SRC=//evil.example></SCRIPT>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<svg><script>alert(1)</script></svg>",
	"<iframe src=javascript:alert(1)>", "<a href=javascript:alert(1)>x</a>", "x <b onmouseover=alert(1)>y</b>", "<style>*{display:none}</style>", "<base href=//evil.example>",
	"<form action=/leave method=post><button>x</button></form>", "<input name=version value=9>", "<meta http-equiv=refresh content=0>", "<!-- --><script>x</script>",
	"<![CDATA[<script>alert(1)</script>]]>", "<?php <script>x ?>", "<!DOCTYPE <script>>", "<div\n\nonclick=alert(1)>", "<plaintext>", "</div></article></li></ol><script>x</script>", "<textarea>", "</textarea>",
	"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java\tscript:alert(1))", "[x](<java\tscript:alert(1)>)", "[x](<java&#10;script:alert(1)>)", "[x](javascript&colon;alert(1))",
	"[x](javascript&#58;alert(1))", "[x](javascript&#x3a;alert(1))", "[x](&#106;avascript:alert(1))", "[x](&#x6A&#x61;vascript:alert(1))", "[x](\x01javascript:alert(1))", "[x](&#1;javascript:alert(1))",
	"[x]( javascript:alert(1))", "[x](&#32;javascript:alert(1))", "[x](javascript\\:alert(1))", "[x](vbscript:x)", "[x](VBScript:x)", "[x](data:text/html,<script>alert(1)</script>)",
	"[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](data:image/svg+xml;base64,AAAA)", "[x](data:image/png;base64,AAAA)", "[x](file:///etc/passwd)", "[x](blob:x)", "[x](filesystem:x)", "[x](ftp://evil.example)", "[x](tel:1)", "[x](view-source:x)",
	"[x](intent://x#Intent;end)", "[x](http://a \"onmouseover=alert(1)\")", "[x](http://a 't\"onmouseover=\"alert(1)')", "[x](http://a\"onmouseover=alert(1))", "[x](<http://a\"onmouseover=alert(1)>)",
	"[x](http://a'onmouseover=alert(1))", "[\"><script>x</script>](http://a)", "[x]: javascript:alert(1)\n\n[x]", "[x]: <javascript:alert(1)> \"t\"\n\n[x]",
	"<javascript:alert(1)>", "<JAVASCRIPT:alert(1)>", "<data:text/html,x>", "<vbscript:x>", "<x:y>", "<http://a\"onclick=alert(1)>", "http://a.b/\"onclick=alert(1)", "www.a.b/<script>", "www.a.b/'onclick=x",
	"<a@b.co\"onclick=x>", "mailto:x\"onclick=y@b.co", "![x](http://evil.example/pixel.gif)", "![](javascript:alert(1))", "![x\"onerror=alert(1)](y)", "![x](y \"z\"onerror=alert(1)\")", "![x](data:image/svg+xml,<svg/onload=alert(1)>)",
	"![<script>x</script>](y)", "![](<script>)", "![][x]\n\n[x]: javascript:alert(1)", "![![![x](javascript:1)](javascript:2)](javascript:3)", "[![x](javascript:1)](javascript:2)",
	"```\"onload=x\n<script>\n```", "```<script>\nx\n```", "``` a\" style=\"x\nx\n```", "~~~<b>\n<b>", "    <script>x</script>", "`<script>`", "``<img src=x onerror=alert(1)>``",
	"# <script>x</script>", "# x {onclick=alert(1)}", "## x {#id .class}", "> <script>x</script>", "- <script>x</script>", "1. <img src=x>", "- [x] <script>", "|<b>|\n|-|\n|<script>|", "|a|\n|:-\" onclick=x|\n|b|",
	"~~<script>~~", "**<script>**", "&lt;script&gt;", "&#60;script&#62;", "\\<script>", "<scr<script>ipt>", "<<script>script>", "<script", "<img src=x onerror=alert(1)//", "\x00<script>", "<scr\x00ipt>", "<\x1bscript>", "\u2028<script>",
	"\ufeff<script>", "+ADw-script+AD4-", "\xff<script>", "[x](//evil.example)", "[^1]: <script>\n\n[^1]", ": <script>", "$<script>$", "{{.Key}}", "{{template \"head\" .}}", "<a id=state data-turn=true>", "<section id=\"state\">",
}

func TestNothingInAnEntryIsObeyed(t *testing.T) {
	for _, attack := range attacks {
		for _, text := range []string{attack, "before " + attack + " after", "x\n\n" + attack + "\n\ny", "> - " + attack, "**" + attack + "**", "[" + attack + "](http://a)", "|a|\n|-|\n|" + attack + "|"} {
			html := string(render(text))
			if bad := safe(html); bad != "" {
				t.Errorf("%q: %q in %s", text, bad, html)
			}
			for _, word := range []string{`="javascript:`, `="vbscript:`, `="data:`, `="file:`} {
				if strings.Contains(strings.ToLower(html), word) {
					t.Errorf("%q: %s", text, html)
				}
			}
		}
	}
}

// TestNothingInAnEntryIsHidden: what the others read, people read as well.
func TestNothingInAnEntryIsHidden(t *testing.T) {
	for text, want := range map[string]string{
		"<thinking>\nno\n</thinking>": "<pre>&lt;thinking&gt;\nno\n&lt;/thinking&gt;</pre>", "a <b> c": "a &lt;b&gt; c", "<!-- hidden -->": "&lt;!-- hidden --&gt;", "x <!-- hidden --> y": "&lt;!-- hidden --&gt;",
		"<script>\nx\n</script>": "&lt;/script&gt;", "![a cat](http://a/cat.png)": `<a href="http://a/cat.png" rel="noopener noreferrer nofollow">picture: a cat</a>`,
		"[![a cat](http://a/cat.png)](http://b)": `<a href="http://b" rel="noopener noreferrer nofollow">picture: a cat</a>`,
		"![a [b](http://b) c](http://a)":         `<a href="http://a" rel="noopener noreferrer nofollow">picture: a b c</a>`,
		"![<http://b>](http://a)":                `<a href="http://a" rel="noopener noreferrer nofollow">picture: http://b</a>`,
		"![![x](http://c)](http://a)":            `<a href="http://a" rel="noopener noreferrer nofollow">picture: picture: x</a>`,
		"![](http://a/cat.png)":                  "picture: http://a/cat.png</a>", "- [x] done\n- [ ] not": "<li>[x] done</li>\n<li>[ ] not</li>", "<ftp://a>": "<p>ftp://a</p>",
	} {
		if got := string(render(text)); !strings.Contains(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"# a":                        "<h4>a</h4>\n",
		"###### a":                   "<h6>a</h6>\n",
		"a\nb":                       "<p>a<br>\nb</p>\n",
		"**a** *b* ~~c~~ `d`":        "<p><strong>a</strong> <em>b</em> <del>c</del> <code>d</code></p>\n",
		"[a](https://b.c/d?e=f&g=h)": "<p><a href=\"https://b.c/d?e=f&amp;g=h\" rel=\"noopener noreferrer nofollow\">a</a></p>\n",
		"see https://b.c/d":          "<p>see <a href=\"https://b.c/d\" rel=\"noopener noreferrer nofollow\">https://b.c/d</a></p>\n",
		"<dan@b.co>":                 "<p><a href=\"mailto:dan@b.co\" rel=\"noopener noreferrer nofollow\">dan@b.co</a></p>\n",
		"|a|b|\n|:-|-:|\n|c|d|":      "<td align=\"left\">c</td>\n<td align=\"right\">d</td>",
		"|a|\n|-|\n|c|":              `<table tabindex="0">`,
		"```go\nx < y\n```":          "<pre><code class=\"language-go\">x &lt; y\n</code></pre>\n",
		"3. a":                       "<ol start=\"3\">\n<li>a</li>\n</ol>\n",
	} {
		if got := string(render(text)); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestControlCharactersAreInert(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2Jx\a": `\x1b[2Jx\a`, "\x1b]52;c;eA==\a": `\x1b]52;c;eA==\a`, "a\u009bb": `a\u009bb`, "a\x00b": `a\x00b`, "a\u2028b": `a\u2028b`, "`\x1b`": `<code>\x1b</code>`, "a\x7fb": `a\x7fb`, "a\xffb": "a\ufffdb",
	} {
		if got := string(render(text)); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := string(render("a\tb\r\nc")); !strings.Contains(got, "a\tb") || strings.Contains(got, `\r`) {
		t.Errorf("got %q", got)
	}
}

// TestWhatWouldCostMuchIsShownAsItIs: a short entry must not become gigabytes, nor
// take minutes.
func TestWhatWouldCostMuchIsShownAsItIs(t *testing.T) {
	for what, text := range map[string]string{
		"a table":     strings.Repeat("|a", 2000) + "|\n" + strings.Repeat("|-", 2000) + "|\n" + strings.Repeat("a\n", 20000),
		"a few marks": strings.Repeat("|a", 300) + "|\n" + strings.Repeat("|-", 300) + "|\n" + strings.Repeat("a\n", 20000),
		"quotes":      strings.Repeat(">", 60000), "links": strings.Repeat("[a](", 15000), "stress": strings.Repeat("*a_", 20000), "long": strings.Repeat("word ", 20000),
		"ticks": strings.Repeat("`a", 30000), "tags": strings.Repeat("<a ", 20000), "pictures": strings.Repeat("![", 30000),
	} {
		if html := string(render(text)); !strings.HasPrefix(html, "<pre>") || len(html) > 6*len(text) || safe(html) != "" {
			t.Errorf("%s: %d bytes became %d: %.80s", what, len(text), len(html), html)
		}
	}
	code := "```\n" + strings.Repeat("for (int i = 0; i < n; i++) { a[i] = b_c(i) | 1; }\n", 400) + "```\n"
	if html := string(render(code)); !strings.HasPrefix(html, "<pre><code>") {
		t.Errorf("a page of code is shown as it is: %.80s", html)
	}
	// What is just within the bounds stays small.
	for what, text := range map[string]string{
		"a table": strings.Repeat("|a", 100) + "|\n" + strings.Repeat("|-", 100) + "|\n" + strings.Repeat("|a\n", 900), "quotes": strings.Repeat(">", maxMarks),
		"lists": strings.Repeat("- ", maxMarkdown/2), "references": strings.Repeat("&#", maxMarkdown/2),
	} {
		if html := string(render(text)); len(html) > 4<<20 {
			t.Errorf("%s: %d bytes became %d", what, len(text), len(html))
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, attack := range attacks {
		f.Add(attack)
	}
	f.Fuzz(func(t *testing.T, text string) {
		html := string(render(text))
		if bad := safe(html); bad != "" {
			t.Errorf("%q: %q in %s", text, bad, html)
		}
	})
}
