#!/bin/sh
# ask: the few ways to ask somebody something, with gum or in plain lines. Sourced by substrate-tui.
#
# Each sets answer and returns 0, or returns 1 when nobody wants to answer: Esc, or an empty line or the end of input
# in plain lines. Ctrl-C ends the script, wherever it is.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

say() { printf '%s\n' "$*"; }

# drawn runs gum. It would ask the terminal for its background, and wait five seconds where nothing answers, but not
# one of this kind. It runs beside us, so that a signal finds us waiting and not deaf until somebody has answered:
# when a terminal goes away, only its first process is told.
drawn() {
  { TERM=screen-256color "$gum" "$@" <&4 & } 4<&0
  drawing=$!
  wait "$drawing"
  drawn=$?
  drawing=''
  [ "$drawn" -ne 130 ] || exit 130
  return "$drawn"
}
drawing=''

# screen TITLE begins one: the title, and what the last command said. What stands on it so far is in $tmp/above, in as
# many lines as taken says.
screen() {
  measure
  taken=0
  : >"$tmp/above"
  if [ -n "$plain" ]; then
    printf '\n%s\n' "$1"
  else
    printf '\033[?1049h\033[H\033[2J\033[1m'
    tell "$1"
    printf '\033[0m'
  fi
  show_note
}

# tell prints text for people, in lines that the terminal has room for.
tell() {
  if [ -n "$plain" ]; then
    say "$1"
  else
    say "$1" | folded "$cols" >"$tmp/told"
    cat "$tmp/told"
    cat "$tmp/told" >>"$tmp/above"
    taken=$((taken + $(wc -l <"$tmp/told") + 0)) # Ctrl-C ends wc as well, and says nothing
  fi
}

# later SAYS something on whatever is shown next; in plain lines that is now.
later() {
  if [ -n "$plain" ]; then
    say "$1"
  else
    note="${note:+$note
}$1"
  fi
}

show_note() {
  [ -z "$note" ] || tell "$note"
  note=''
}

# options WORD... sets what there is to choose from, one a line.
options() { printf '%s\n' "$@" >"$tmp/options"; }

# choose HEADER has one of the options chosen; picked is its number.
choose() {
  if [ -n "$plain" ]; then
    choose_plain "$1"
    return
  fi
  lines=$(wc -l <"$tmp/options")
  [ "$lines" -le $((rows - taken - 4)) ] || lines=$((rows - taken - 4))
  [ "$lines" -ge 3 ] || lines=3
  drawn choose --height "$lines" --header "$(say "$1" | folded "$cols")" <"$tmp/options" >"$tmp/answer" || return 1
  pick "$tmp/options"
}

# sift HEADER is choose for many: what is typed leaves those that have it. It returns 2 when that is none. gum takes the
# whole screen for it, so it draws what stands above as well.
sift() {
  if [ -n "$plain" ]; then
    choose_plain "$1" sift
    return
  fi
  drawn filter --no-fuzzy --header "$(cat "$tmp/above")" --placeholder "$1 (type to filter)" --indicator ">" \
    <"$tmp/options" >"$tmp/answer" || return 1
  pick "$tmp/options" || {
    note='Nothing there has that.'
    return 2
  }
}

# pick finds what was chosen.
pick() {
  IFS= read -r answer <"$tmp/answer" || return 1
  picked=$(grep -nxF -e "$answer" "$1" | sed 's/:.*//;q')
  [ -n "$picked" ]
}

choose_plain() {
  cp "$tmp/options" "$tmp/shown"
  show=yes
  while :; do
    [ -z "$show" ] || awk '{ printf "%3d  %s\n", NR, $0 }' "$tmp/shown"
    show=''
    printf '%s ' "$1 [number${2:+, or text to look for}]"
    IFS= read -r number || {
      echo
      return 1
    }
    case $number in
      '') return 1 ;;
      # The options of a room begin with their keys.
      [a-z]) answer=$(awk -v "key=$number  " 'index($0, key) == 1' "$tmp/shown") ;;
      *[!0-9]* | ??????*) answer='' ;;
      *) answer=$(sed -n "${number}p" "$tmp/shown") ;;
    esac
    if [ -n "$answer" ]; then
      say "$answer" >"$tmp/answer"
      pick "$tmp/options"
      return
    elif [ -n "${2:-}" ] && grep -iF -e "$number" "$tmp/options" >"$tmp/shown"; then
      show=yes
    else
      say "There is no $number: a number from 1 to $(wc -l <"$tmp/options" | tr -d ' '), or an empty line to go back."
      cp "$tmp/options" "$tmp/shown"
    fi
  done
}

# ask PROMPT [DEFAULT] has a line written; an empty one is the default, or no answer where there is none.
ask() {
  line_of "$1" "${2:-}" '' && [ -n "$answer" ]
}

# ask_any PROMPT is ask, and takes an empty line.
ask_any() { line_of "$1" '' ''; }

# line_of PROMPT DEFAULT VALUE has VALUE edited, where it can be.
line_of() {
  answer=''
  if [ -n "$plain" ]; then
    printf '%s%s: ' "$1" "${2:+ [$2]}"
    IFS= read -r answer || return 1
  else
    drawn input --char-limit 0 --header "$(say "$1" | folded "$cols")" --placeholder "$2" --value "$3" \
      >"$tmp/answer" || return 1
    IFS= read -r answer <"$tmp/answer"
  fi
  answer=${answer:-$2}
}

# sure QUESTION
sure() {
  if [ -n "$plain" ]; then
    printf '%s (y or n): ' "$1"
    IFS= read -r answer || return 1
    case $answer in [yY]*) return 0 ;; esac
    return 1
  fi
  drawn confirm "$(say "$1" | folded $((cols - 2)))"
}

# page FILE lets somebody read it.
page() {
  if [ -n "$plain" ]; then
    cat "$1"
  elif [ -n "${PAGER:-}" ]; then
    by_line
    sh -c "$PAGER" <"$1"
    by_key
  else
    drawn pager --show-line-numbers=false <"$1"
  fi
}

# quoted WORD... prints a command as one would type it.
quoted() {
  for word; do
    case $word in
      '' | *[!A-Za-z0-9_./,:@%+=-]*) printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")" ;;
      *) printf '%s ' "$word" ;;
    esac
  done | sed 's/ $//'
}

# run PROGRAM WORD... does something by the program that does it, shows the command, and keeps what it said for
# whatever is shown next. The space is named to it, and to the reader where he does not stand in it.
run() {
  command="\$ $(quoted "$@" ${elsewhere:+--space "$root"})"
  say "$command"
  "$@" ${root:+--space "$root"} --text </dev/null >"$tmp/out" 2>"$tmp/err"
  ran=$?
  ran_note
}

# run_bare is run for the programs that take no --space.
run_bare() {
  command="\$ $(quoted "$@")"
  say "$command"
  "$@" --text </dev/null >"$tmp/out" 2>"$tmp/err"
  ran=$?
  ran_note
}

ran_note() {
  [ "$ran" -ne 0 ] || say "$command" >>"$tmp/ran"
  if [ -n "$plain" ]; then
    cat "$tmp/out" "$tmp/err"
  else
    later "$command
$(cat "$tmp/out" "$tmp/err")"
  fi
  return "$ran"
}

# busy TITLE PROGRAM WORD... runs what may last, and shows that it does. Its output is in $tmp/out and $tmp/err, its
# process in $tmp/worker for as long as it has to be ended with us.
busy() {
  title=$1
  shift
  # shellcheck disable=SC2016 # it is that shell's $1
  set -- sh -c 'echo $$ >"$1/worker"; out=$1/out err=$1/err; shift; exec "$@" </dev/null >"$out" 2>"$err"' sh "$tmp" "$@"
  if [ -n "$plain" ]; then
    say "$title ..."
    "$@" &
    wait $!
  else
    drawn spin --title "$title" -- "$@"
  fi
  ran=$?
  rm -f "$tmp/worker"
  return "$ran"
}
