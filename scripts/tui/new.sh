#!/bin/sh
# new: spaces, participants and rooms that are not there yet. Sourced by substrate-tui.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# space_here sets root, label and members (lines "name kind") of a space, by its directory or the one we are in.
space_here() {
  substrate-spaces show ${1:+"$1"} --errors json >"$tmp/space.json" 2>"$tmp/err" || return 1
  fields root label participants <"$tmp/space.json" >"$tmp/space"
  IFS=$us read -r root label members <"$tmp/space"
  # A reader who stands in the space need not name it.
  elsewhere=''
  [ "$(substrate-spaces show 2>/dev/null | fields root)" = "$root" ] || elsewhere=yes
}

# people prints the names of who is registered, with commas between.
people() { say "$members" | tr ',' '\n' | awk 'NF == 2 { printf "%s%s", c, $1; c = "," }'; }

# plainly WORD... spells names as they are, whatever a keyboard makes of them; what is wrong all the same is refused.
plainly() { say "$*" | tr '[:upper:]' '[:lower:]'; }

# agents LIST prints those of the names that are agents.
agents() {
  printf '%s\n' "$members" "$1" | LC_ALL=C awk -F , '
    NR == 1 { for (i = 1; i <= NF; i++) if (split($i, m, " ") == 2 && m[2] == "agent") agent[m[1]] = 1 }
    NR == 2 { for (i = 1; i <= NF; i++) if ($i in agent) print $i }'
}

# registered NAME: is he?
registered() { say ",$(people)," | grep -qF ",$1,"; }

# open_space finds the space to walk through, or has it made, and who walks.
open_space() {
  [ -n "$me" ] || me=$(substrate-identity 2>/dev/null | fields name)
  until space_here "$space"; do
    # What is there and does not parse is not to be made anew.
    if [ "$(fields code <"$tmp/err")" != not_a_space ]; then
      why=$(fields message <"$tmp/err")
      hint=$(fields hint <"$tmp/err")
      complain "the space here cannot be read: $why" "${hint:-substrate doctor}"
    fi
    first_run
  done
  who_am_i
}

# first_run asks whether to make a space, and writes nothing before that was said.
first_run() {
  where=${space:-$(pwd)}
  screen "There is no space in $where"
  tell "A space is a directory with rooms in it, in which people and agents take turns in writing. All of it is plain \
files, in .substrate. Nothing is made before you have said so.
"
  options 'make a space here' 'go to a space of this machine' 'leave'
  choose 'What now?' || exit 0
  case $answer in
    make*) make_space ;;
    go*) spaces_go ;;
    *) exit 0 ;;
  esac
}

make_space() {
  if [ -z "$me" ]; then
    me=$(id -un 2>/dev/null | tr '[:upper:]' '[:lower:]' | tr -cd 'a-z0-9-')
    ask 'Your name in the rooms (a-z, 0-9, -, . and /)' "$me" || {
      me=''
      return
    }
    me=$(plainly "$answer" | tr ' ' -) remember=yes
  fi
  crew=''
  ask_any 'Agents to take part, with blanks between, such as claude codex; or none' || return
  crew=$(plainly "$answer")
  register=''
  sure "Register it on this machine? It is found from everywhere then, and this machine's crew takes part in it." ||
    register=--no-register
  screen "This makes a space in $where"
  tell 'It runs:'
  [ -z "${remember:-}" ] || tell "  substrate-identity $(quoted "$me")"
  tell "  substrate-init $(quoted "$where") --as $(quoted "$me")${register:+ $register}"
  [ -z "$crew" ] || tell "  substrate-join $crew --kind agent"
  tell ''
  if ! sure 'Shall it?'; then
    [ -z "${remember:-}" ] || me=''
    note='Nothing was made.'
    return
  fi
  root=''
  if [ -n "${remember:-}" ] && ! run_bare substrate-identity "$me"; then
    me=''
    return
  fi
  remember=''
  # shellcheck disable=SC2086 # nothing, or one flag
  run_bare substrate-init "$where" --as "$me" $register || return
  space=$where
  space_here "$space" || return
  if [ -n "$crew" ]; then
    set -f
    # shellcheck disable=SC2086 # several names
    run substrate-join $crew --kind agent
    set +f
  fi
}

# who_am_i has somebody to be, and has him registered where he is not.
who_am_i() {
  until [ -n "$me" ] && registered "$me"; do
    if [ -z "$me" ]; then
      screen "Who are you in $root?"
      names "$(people)" || : >"$tmp/options"
      say 'somebody else' >>"$tmp/options"
      choose 'You are' || exit 0
      [ "$answer" != 'somebody else' ] || ask 'Your name (a-z, 0-9, -, . and /)' || continue
      me=$(plainly "$answer" | tr ' ' -)
      if sure "Remember on this machine that you are $me?"; then run_bare substrate-identity "$me" || me=''; fi
      continue
    fi
    screen "$me is not registered in $root"
    options "register $me here, as a human" 'be somebody else' 'only look'
    choose 'What now?' || exit 0
    case $answer in
      register*) run substrate-join "$me" --kind human || me='' ;;
      be*) me='' ;;
      *) return ;;
    esac
    space_here "$root"
  done
}

join() {
  screen "Register participants in ${label:-$root}"
  tell "there: $(people | sed 's/,/, /g')"
  ask 'Names, with blanks between' || return
  joining=$(plainly "$answer")
  options agent human other
  choose 'What are they?' || return
  set -f
  # shellcheck disable=SC2086 # several names
  run substrate-join $joining --kind "$answer"
  set +f
  space_here "$root"
}

open_room() {
  if ! names "$(people)" "$me"; then
    later "A room takes two. Only $me is registered here: whom do you want to talk to?"
    join
    names "$(people)" "$me" || return
  fi
  screen 'A new room'
  ask 'Its name (a-z, 0-9, -, . and /)' || return
  name=$(plainly "$answer" | tr ' ' -)
  ask 'What is it about? One line' || return
  topic=$answer
  tell "$me moderates it and speaks first."
  names "$(people)" "$me" && everyone=$(tr '\n' ',' <"$tmp/options")
  in_sequence "${everyone%,}" 'Who else takes turns, in which order?' || return
  run substrate-open "$name" --topic "$topic" --moderator "$me" --turns "$picks" || return
  room=$name
  agent=$(agents "$picks" | head -n 1)
  [ -z "$agent" ] || later "Who takes the turns of $agent? For example, in another terminal:
substrate-attend $agent --reply stdout --exec COMMAND"
  view
}
