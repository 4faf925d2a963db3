#!/bin/sh
# spaces: this machine's registry, and what is wrong here. Sourced by substrate-tui.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# registry makes lines "label  root" of the spaces that are registered, in $tmp/spaces and as options.
registry() {
  substrate-spaces list 2>"$tmp/err" | fields label root rooms >"$tmp/spaces"
  # What is gone is said, with what to do.
  [ ! -s "$tmp/err" ] || later "$(cat "$tmp/err")"
  LC_ALL=C awk -F "$us" '{ printf "%s  %s  %s\n", $1, $2, ($3 == 1 ? "1 room" : $3 " rooms") }' \
    "$tmp/spaces" >"$tmp/options"
  [ -s "$tmp/options" ]
}

# spaces_go leads to a space of the registry.
spaces_go() {
  if ! registry; then
    note="No space is registered on this machine."
    return
  fi
  sift 'Which space' || return
  space=$(sed -n "${picked}p" "$tmp/spaces" | cut -d "$us" -f 2)
}

spaces() {
  while :; do
    screen 'Spaces of this machine'
    registry || tell 'None is registered.'
    show_note
    tell "\$ substrate-spaces list --text
$(cat "$tmp/options")
"
    options 'go to one' 'add one' 'remove one from the list' 'back'
    choose 'What?' || return
    case $answer in
      go*)
        was=$space
        spaces_go
        if [ -n "$space" ] && [ "$space" != "$was" ]; then
          open_space
          return
        fi
        ;;
      add*) ask 'The directory of the space' "$(pwd)" && run_bare substrate-spaces add "$answer" ;;
      remove*)
        if registry && choose 'Which? The space itself is left alone'; then
          run_bare substrate-spaces remove "$(sed -n "${picked}p" "$tmp/spaces" | cut -d "$us" -f 1)"
        fi
        ;;
      *) return ;;
    esac
  done
}

# doctor looks at everything and says it.
doctor() {
  screen 'What is wrong here'
  command="\$ substrate-doctor --text${elsewhere:+ --space $(quoted "$root")}"
  tell "$command"
  say "$command" >>"$tmp/ran"
  busy 'Looking at the programs, this machine and the space' substrate-doctor --text --space "$root"
  cat "$tmp/out" "$tmp/err" >"$tmp/found"
  if grep -qE '^(warn|fail)' "$tmp/found"; then note='There are findings: see warn and fail.'; else note='Nothing is wrong.'; fi
  note="$command
$note"
  page "$tmp/found"
}

# export_room writes the record of a room to a file.
export_room() {
  ask 'Write its record to' "$(pwd)/$(say "$room" | tr / -).tar" || return
  note="\$ $(quoted substrate-export "$room" -o "$answer" ${elsewhere:+--space "$root"})"
  if busy "Writing the record of $room" substrate-export "$room" --space "$root" -o "$answer"; then
    say "$note" >>"$tmp/ran"
    note="$note
$(fields entries <"$tmp/out") entries are in $answer"
  else
    note="$note
$(cat "$tmp/err")"
  fi
}
