#!/bin/sh
# moderate: what a moderator does. Sourced by substrate-tui.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# names LIST sets the options to the names of a list with commas, each once, without those given after it.
names() {
  list=$1
  shift
  printf '%s\n' "$list" | tr ',' '\n' | awk -v "without=$*" '
    BEGIN { n = split(without, w, " "); for (i = 1; i <= n; i++) not[w[i]] = 1 }
    NF && !($0 in not)' >"$tmp/options"
  [ -s "$tmp/options" ]
}

# in_sequence LIST HEADER has names picked one after the other; picks is what they make, commas between.
in_sequence() {
  picks=''
  # shellcheck disable=SC2046 # names have no blanks
  while names "$1" $(say "$picks" | tr ',' ' '); do
    [ -z "$picks" ] || say "that is all: $picks" >>"$tmp/options"
    choose "$2${picks:+ (so far: $picks)}" || return 1
    case $answer in 'that is all'*) break ;; esac
    picks=$picks${picks:+,}$answer
  done
  [ -n "$picks" ]
}

moderate() {
  if [ "$me" != "$r_moderator" ]; then
    note="Only $r_moderator moderates this room."
    return
  fi
  screen "Moderate $room"
  tell "turns: $(say "$r_order" | sed 's/,/, /g')${r_quieted:+; quiet: $r_quieted}"
  if [ "$r_status" = ended ]; then
    options 'resume: open the room again'
  else
    options 'next: hand the floor to somebody' 'invite: add somebody to the order' 'quiet: pass somebody over' \
      'unquiet: no longer' 'order: who follows whom' 'topic: what the room is about' 'end: no more entries'
  fi
  choose 'What?' || return
  case $answer in
    next*) names "$r_order" && choose 'Who gets the floor?' && op next "$answer" ;;
    invite*) invite ;;
    quiet*)
      names "$r_order" "$r_moderator" || return
      choose 'Who is passed over?' || return
      who=$answer
      ask 'How many times?' 1 && op quiet "$who" "$answer"
      ;;
    unquiet*)
      if names "$(say "$r_quieted" | sed 's/ [0-9]*//g')"; then
        choose 'Who is passed over no longer?' && op quiet "$answer" 0
      else
        note='Nobody is quiet.'
      fi
      ;;
    order*)
      tell "$r_moderator moderates and stays first. Who is not picked leaves the order."
      everybody
      in_sequence "$everybody" 'Who is next in the order?' && op order "$r_moderator,$picks"
      ;;
    topic*) line_of 'The topic, one line' '' "$r_topic" && [ -n "$answer" ] && op topic "$answer" ;;
    end*) sure "End $room? No more entries can be written." && op end ;;
    resume*) op resume ;;
  esac
}

# everybody sets the list of who is not the moderator: first those in the order, then the others of the space.
everybody() {
  everybody=$(printf '%s\n' "$r_order" "$(people)" | tr ',' '\n' | awk -v "m=$r_moderator" '
    NF && $0 != m && !($0 in had) { had[$0] = 1; printf "%s%s", comma, $0; comma = "," }')
}

invite() {
  # shellcheck disable=SC2046 # names have no blanks
  names "$(people)" $(say "$r_order" | tr ',' ' ') || : >"$tmp/options"
  say 'somebody new, an agent' >>"$tmp/options"
  choose 'Who?' || return
  [ "$answer" != 'somebody new, an agent' ] || ask 'The name (a-z, 0-9, -, . and /)' || return
  op invite "$answer"
}

# op OPERATION WORD... as the moderator.
op() {
  what=$1
  shift
  run substrate-moderate "$what" "$room" "$@" --as "$me"
}
