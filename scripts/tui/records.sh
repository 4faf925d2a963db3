#!/bin/sh
# records: reads the JSON Lines of the programs, with nothing but awk. Sourced by substrate-tui.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# The functions of every awk program here. In the C locale awk sees bytes, whichever awk it is.
#
# parse(line) reads one record into v: v[key] is a text or number; a list is its items with commas between, a map in
# it its values with blanks between, and a map "key value,key value". Control characters cannot stand in JSON as
# they are, so two of them hold the place of escaped backslashes and quotes, which leaves quotes that are quotes.
records_awk='
function parse(line,   q, n, i, j, c, s, depth, key, num, list) {
  split("", v)
  gsub(/\\\\/, "\001", line)
  gsub(/\\"/, "\002", line)
  n = split(line, q, "\"")
  depth = 0
  for (i = 1; i <= n; i++) {
    if (i % 2 == 0) {
      s = q[i]
      if (q[i + 1] ~ /^[ \t]*:/) {
        if (depth == 1) key = s
        else if (depth == 2) v[key] = v[key] (v[key] == "" ? "" : ",") text(s)
      } else put(key, text(s), depth, list)
      continue
    }
    num = ""
    for (j = 1; j <= length(q[i]); j++) {
      c = substr(q[i], j, 1)
      if (c ~ /[-+.0-9A-Za-z]/) { num = num c; continue }
      if (num != "") put(key, num, depth, list)
      num = ""
      if (c == "{" || c == "[") {
        depth++
        if (depth == 2) list = c == "["
        if (depth == 3) v[key] = v[key] (v[key] == "" ? "" : ",")
      } else if (c == "}" || c == "]") depth--
    }
  }
}
function put(key, s, depth, list) {
  if (depth == 1) v[key] = s
  else if (depth == 2 && list) v[key] = v[key] (v[key] == "" ? "" : ",") s
  else v[key] = v[key] (v[key] == "" || v[key] ~ /,$/ ? "" : " ") s
}
# text undoes the escapes of a string.
function text(s,   at, code, low) {
  if (length(s) > most && most) {
    s = substr(s, 1, most)
    sub(/\\(u[0-9A-Fa-f]?[0-9A-Fa-f]?[0-9A-Fa-f]?)?$/, "", s)
    sub(/[\300-\367][\200-\277]*$/, "", s)
    cut = 1
  }
  if (s ~ /\\/) {
    gsub(/\\n/, "\n", s); gsub(/\\t/, "\t", s); gsub(/\\r/, "\r", s)
    gsub(/\\b/, "\010", s); gsub(/\\f/, "\014", s); gsub(/\\\//, "/", s)
    while ((at = index(s, "\\u")) > 0) {
      code = hex(substr(s, at + 2, 4)); low = 0
      if (code >= 55296 && code < 56320 && substr(s, at + 6, 2) == "\\u") {
        low = hex(substr(s, at + 8, 4))
        code = 65536 + (code - 55296) * 1024 + low - 56320
      }
      s = substr(s, 1, at - 1) utf8(code) substr(s, at + (low ? 12 : 6))
    }
  }
  gsub(/\002/, "\"", s)
  gsub(/\001/, "\\", s)
  return s
}
function hex(s,   i, n) {
  n = 0
  for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", tolower(substr(s, i, 1))) - 1
  return n
}
# utf8 shows a control character, which only an escape can bring, so that it cannot act on a terminal.
function utf8(c) {
  if (c < 32) return c == 9 || c == 10 ? sprintf("%c", c) : sprintf("\001x%02x", c)
  if (c < 128) return sprintf("%c", c)
  if (c < 2048) return sprintf("%c%c", 192 + int(c / 64), 128 + c % 64)
  if (c < 65536) return sprintf("%c%c%c", 224 + int(c / 4096), 128 + int(c / 64) % 64, 128 + c % 64)
  return sprintf("%c%c%c%c", 240 + int(c / 262144), 128 + int(c / 4096) % 64, 128 + int(c / 64) % 64, 128 + c % 64)
}
# inert does the same for those that stand in a string as they are, or have an escape of their own.
function inert(s,   i) {
  gsub(/\r\n/, "\n", s)
  if (s ~ /[\010\013\014\015\177]/) {
    gsub(/\010/, "\\x08", s); gsub(/\014/, "\\x0c", s); gsub(/\015/, "\\x0d", s); gsub(/\177/, "\\x7f", s)
  }
  if (s ~ /\302[\200-\237]/)
    for (i = 128; i < 160; i++) gsub(sprintf("%c%c", 194, i), sprintf("\\x%02x", i), s)
  return s
}
function line(s) {
  s = inert(s)
  gsub(/\n/, "\\n", s)
  gsub(/\t/, "\\t", s)
  gsub(/\342\200[\250\251]/, "\\u2028", s)
  return s
}
'

# us parts fields. No value has it, and unlike a tab it lets read see empty ones.
us=$(printf '\037')

# fields KEY... prints these values of each record on standard input, with us between.
fields() {
  LC_ALL=C awk -v "keys=$*" "$records_awk"'
    BEGIN { n = split(keys, key, " ") }
    { parse($0); for (i = 1; i <= n; i++) printf "%s%s", line(v[key[i]]), (i < n ? "\037" : "\n") }'
}

# bodies DIR writes the text of each entry on standard input to a file in DIR, unless it is there, and prints the
# name of that file, the author, and the time as people read it.
bodies() {
  LC_ALL=C awk -v "dir=$1" -v most=65536 "$records_awk"'
    index($0, "{\"type\":\"entry\"") != 1 { next }
    {
      cut = 0
      parse($0)
      file = dir "/" v["entry"]
      if ((getline have <file) < 0) {
        printf "%s\n", inert(v["body"]) >file
        if (cut) printf "\n(cut here; it has %d bytes)\n", v["bytes"] >file
      }
      close(file)
      printf "%s\037%s\037%s %s UTC\n", v["entry"], line(v["author"]), substr(v["time"], 1, 10),
        substr(v["time"], 12, 5)
    }'
}

# said prints the entries on standard input for reading. What an author wrote is set in, so that nothing in it can be
# taken for the heading of another entry.
said() {
  LC_ALL=C awk -v most=262144 "$records_awk"'
    index($0, "{\"type\":\"entry\"") != 1 { next }
    {
      cut = 0
      parse($0)
      body = inert(v["body"])
      gsub(/\n/, "\n  ", body)
      printf "%s, %s %s UTC\n  %s\n", line(v["author"]), substr(v["time"], 1, 10), substr(v["time"], 12, 5), body
      if (cut) printf "  (cut here; it has %d bytes: substrate-read %s --from-entry %s --through-entry %s --text)\n", \
        v["bytes"], v["thread"], v["entry"], v["entry"]
      print ""
    }'
}
