#!/bin/sh
# text: how wide things are, how old, and how they are drawn. Sourced by substrate-tui.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# measure asks how large the terminal is.
measure() {
  rows=24 cols=80
  size=$(stty size 2>/dev/null) || return 0
  case $size in
    0* | *' 0') ;;
    *' '*) rows=${size% *} cols=${size#* } ;;
  esac
}

# by_key has the terminal hand over each key at once, and nothing half a second after it asked, which is how gum and we
# want it. A key that comes while neither listens is not shown, and Return stays what it is.
by_key() { [ -n "$plain" ] || stty -icanon -echo -icrnl min 0 time 5 susp undef; }

# by_line gives the terminal back to who reads lines: an editor, a pager, our own lines.
by_line() { stty "$terminal"; }

# fold_awk breaks lines at blanks so that none takes more than width cells. CJK and emoji take two; what combines
# with the character before it none. Where terminals differ (a variation selector, say) the wider answer is taken:
# a short line does no harm. Colour takes no cells.
fold_awk='
BEGIN {
  n = split("1100-115f 231a-231b 23e9-23ec 25fd-25fe 2614-2615 2648-2653 267f-267f 2693-2693 26a1-26a1 26aa-26ab " \
    "26bd-26be 26c4-26c5 26ce-26ce 26d4-26d4 26ea-26ea 26f2-26f5 26fa-26fd 2705-2705 270a-270b 2728-2728 274c-274e " \
    "2753-2757 2795-2797 27b0-27bf 2b1b-2b1c 2b50-2b55 2e80-303e 3041-a4cf a960-a97c ac00-d7a3 f900-faff fe30-fe6f " \
    "ff01-ff60 ffe0-ffe6 16fe0-18cff 1aff0-1b2fb 1f004-1f004 1f0cf-1f0cf 1f18e-1f19a 1f1e6-1f64f 1f680-1f6ff " \
    "1f7e0-1f7eb 1f900-1faff 20000-3fffd", wide, " ")
  m = split("300-36f 483-489 591-5bd 610-61a 64b-65f 900-902 93a-93c 941-948 94d-94d e31-e31 e34-e3a e47-e4e " \
    "1ab0-1aff 1dc0-1dff 200b-200f 202a-202e 2060-2064 20d0-20ff fe00-fe0e fe20-fe2f feff-feff", none, " ")
  for (i = 1; i <= n; i++) { split(wide[i], two, "-"); wlow[i] = num(two[1]); whigh[i] = num(two[2]) }
  for (i = 1; i <= m; i++) { split(none[i], two, "-"); nlow[i] = num(two[1]); nhigh[i] = num(two[2]) }
}
function num(s,   i, v) {
  v = 0
  for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
  return v
}
function cells(code,   i) {
  if (code < 768) return 1
  if (code in known) return known[code]
  known[code] = 1
  for (i = 1; i <= n; i++) if (code >= wlow[i] && code <= whigh[i]) known[code] = 2
  for (i = 1; i <= m; i++) if (code >= nlow[i] && code <= nhigh[i]) known[code] = 0
  return known[code]
}
# next takes a character, or an escape sequence, off the string from a place on: sets ch and wide_ch.
function take(s, at,   c, len, code) {
  c = substr(s, at, 1)
  wide_ch = 1
  if (c < "\177") {
    ch = c
    if (c == "\033") {
      match(substr(s, at), /^\033\[[0-9;]*[A-Za-z]|^\033/)
      ch = substr(s, at, RLENGTH)
      wide_ch = 0
    }
    return
  }
  len = c < "\300" ? 1 : c < "\340" ? 2 : c < "\360" ? 3 : 4
  ch = substr(s, at, len)
  code = len == 1 ? 0 : byte[c] % (len == 2 ? 32 : len == 3 ? 16 : 8)
  for (i = 2; i <= len; i++) code = code * 64 + byte[substr(ch, i, 1)] % 64
  wide_ch = cells(code)
}
BEGIN { for (i = 128; i < 256; i++) byte[sprintf("%c", i)] = i }
function width(s,   at, w) {
  if (s !~ /[\033\200-\377]/) return length(s)
  for (at = 1; at <= length(s); at += length(ch)) { take(s, at); w += wide_ch }
  return w
}
# clip returns as much of s as fits into w cells.
function clip(s, w,   at, used) {
  if (width(s) <= w) return s
  for (at = 1; at <= length(s); at += length(ch)) {
    take(s, at)
    if (used + wide_ch > w - 1) break
    used += wide_ch
  }
  return substr(s, 1, at - 1) "~"
}
function fold(s, w, indent,   i, n, word, line, used, cw, lead, at) {
  gsub(/\t/, "    ", s)
  sub(/ +$/, "", s)
  match(s, /^ */)
  used = RLENGTH
  if (used > w / 2) used = int(w / 2)
  lead = indent substr(s, 1, used)
  n = split(substr(s, RLENGTH + 1), word, / /)
  line = lead
  for (i = 1; i <= n; i++) {
    cw = width(word[i])
    if (i > 1 && used + 1 + cw > w) { print line; line = lead; used = length(lead) - length(indent) }
    else if (i > 1) { line = line " "; used++ }
    if (used + cw <= w) { line = line word[i]; used += cw; continue }
    for (at = 1; at <= length(word[i]); at += length(ch)) {
      take(word[i], at)
      if (used + wide_ch > w) { print line; line = indent; used = 0 }
      line = line ch
      used += wide_ch
    }
  }
  print line
}
'

# folded WIDTH [INDENT] breaks the lines of standard input.
folded() {
  LC_ALL=C awk -v "most=$1" -v "indent=${2:-}" "$fold_awk"'
    { fold($0, most - length(indent) < 2 ? 2 : most - length(indent), indent) }'
}

# Who wrote and whose turn it is stand out, by more than a colour.
by=$(printf '\033[1;36m') here_now=$(printf '\033[1;32m')
[ -z "${NO_COLOR:-}" ] || { by=$(printf '\033[1m') && here_now=$by; }

# How Markdown looks: bold, underline and the terminal's own colours, since nobody knows its background.
style() {
  colour='"color": "6", ' code='"color": "3", '
  [ -z "${NO_COLOR:-}" ] || colour='' code=''
  cat <<JSON
{"document": {}, "block_quote": {"indent": 1, "indent_token": "| "}, "paragraph": {}, "list": {"level_indent": 2},
"heading": {$colour"bold": true, "block_suffix": "\\n"}, "h1": {"prefix": "# "}, "h2": {"prefix": "## "},
"h3": {"prefix": "### "}, "h4": {"prefix": "#### "}, "h5": {"prefix": "##### "}, "h6": {"prefix": "###### "},
"text": {}, "strikethrough": {"crossed_out": true}, "emph": {"italic": true}, "strong": {"bold": true},
"hr": {"format": "\\n--------\\n"}, "item": {"block_prefix": "- "}, "enumeration": {"block_prefix": ". "},
"task": {"ticked": "[x] ", "unticked": "[ ] "}, "link": {"underline": true}, "link_text": {"bold": true},
"image": {"underline": true}, "image_text": {"format": "image: {{.text}}"}, "code": {$code"prefix": "\`", "suffix": "\`"},
"code_block": {$code"margin": 2}, "table": {}, "definition_list": {}, "definition_term": {},
"definition_description": {"block_prefix": "\\n> "}, "html_block": {}, "html_span": {}}
JSON
}

# rendered FILE TO WIDTH sets the Markdown of FILE in lines of WIDTH cells, with no more than one blank one on end. Each
# entry is set alone, so that nothing in one, such as a fence that is not closed, reaches into another. Text in which
# nothing could be markup goes without gum, which takes a tenth of a second.
rendered() {
  if ! LC_ALL=C grep -qE '[][*_`#>|<~\\&!=+]|://|^[[:blank:]]|^[0-9]+[.)]|^-' "$1"; then
    cat "$1" >"$tmp/format"
  else
    "$gum" format --theme "$tmp/style.json" <"$1" >"$tmp/format" 2>/dev/null || cat "$1" >"$tmp/format"
  fi
  folded "$3" '  ' <"$tmp/format" | LC_ALL=C awk '
    { bare = $0; gsub(/\033\[[0-9;]*m/, "", bare) }
    bare ~ /^ *$/ { blank++; next }
    { if (blank && said) print ""; blank = 0; said = 1; print }' >"$2"
}

# age_awk: age(time) says how long ago a time of a record was, by the clock in now.
age_awk='
function days(y, m, d) {
  if (m < 3) { y--; m += 12 }
  return 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * (m - 3) + 2) / 5) + d
}
function seconds(y, m, d, h, i, s) { return days(y + 0, m + 0, d + 0) * 86400 + h * 3600 + i * 60 + s }
function age(t,   part, s) {
  split(now, part, " ")
  s = seconds(part[1], part[2], part[3], part[4], part[5], part[6])
  s -= seconds(substr(t, 1, 4), substr(t, 6, 2), substr(t, 9, 2), substr(t, 12, 2), substr(t, 15, 2), substr(t, 18, 2))
  if (s < 60) return "now"
  if (s < 3600) return int(s / 60) " min"
  if (s < 86400) return int(s / 3600) " h"
  return int(s / 86400) " d"
}
'
clock() { date -u '+%Y %m %d %H %M %S'; }
