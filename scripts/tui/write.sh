#!/bin/sh
# write: drafts, and how they become entries. Sourced by substrate-tui.
#
# What is written is in a file from its first line on, and stays there until a program has said that it is posted:
# whatever is refused, interrupted or late. gum has a box to write in, but an interrupt would lose what is in it.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# editor sets the command to write with: what the environment says, else the first of those that people have.
editor() {
  editor=${VISUAL:-${EDITOR:-}}
  for e in $1; do
    [ -n "$editor" ] || ! command -v "$e" >/dev/null || editor=$e
  done
  [ -n "$editor" ]
}

# write_draft EDITORS has the draft written, in view of the room as it was shown.
write_draft() {
  draft_at
  if ! [ -f "$draft" ] && ! keep "$draft" </dev/null; then
    note="The draft cannot be kept in $draft"
    return 1
  fi
  answers "$r_version" "$last_entry"
  if editor "$1"; then
    by_line
    sh -c "$editor"' "$1"' sh "$draft" || note="$editor ended with status $?; the draft is as it left it."
    by_key
  else
    compose
  fi
}

# compose takes lines into the draft until one is a full stop. The terminal edits them.
compose() {
  by_line
  stty noflsh
  writing=yes
  screen "Write in $room, as $me"
  tail -n $((rows / 3)) "$tmp/tail" 2>/dev/null
  say ''
  tell "A line with only a full stop ends it. Ctrl-C leaves; the draft stays."
  cat "$draft"
  while IFS= read -r line; do
    [ "$line" != . ] || break
    printf '%s\n' "$line" >>"$draft"
  done
  writing=''
  by_line
  by_key
}

# keep_line saves what was typed of a line when a signal came: noflsh has left it with the terminal, and out of line
# mode it can be read.
keep_line() {
  writing=''
  stty -icanon -echo min 0 time 0 2>/dev/null || return 0
  line=$(dd bs=8192 count=1 2>/dev/null)
  [ -z "$line" ] || printf '%s\n' "$line" >>"$draft"
}

# deliver sends the draft, if the floor is here and the writer has seen what he answers.
deliver() {
  while :; do
    draft_at
    if ! has_draft; then
      forget_draft
      later "There is nothing in the draft."
      return
    fi
    load_room || return
    if [ "$r_status" = ended ]; then
      later "The room has ended. Your draft stays here."
      return
    elif [ "$r_current" != "$me" ]; then
      later "$r_current holds the floor. Your draft stays here until it is yours."
      return
    fi
    screen "Your draft for $room"
    if [ "$r_version" != "$from_version" ]; then
      show_new
      options 'edit it first' 'send it all the same' 'keep it for later' 'throw it away'
    else
      preview
      options 'send it' 'edit it' 'keep it for later' 'throw it away'
    fi
    [ -z "$long" ] || say 'read all of this' >>"$tmp/options"
    choose 'The draft' || return
    case $answer in
      read*) page "$tmp/preview" ;;
      edit*) write_draft '' ;;
      send*)
        [ "$r_version" = "$from_version" ] || answers "$r_version" "$last_entry"
        if run substrate-post "$room" --as "$me" -f "$draft" --expect "$from_version" --id "$(draft_key)"; then
          forget_draft
          return
        fi
        # Only a room that has moved meanwhile gives reason to ask once more.
        load_room || return
        if [ "$r_version" = "$from_version" ]; then return; fi
        ;;
      throw*)
        if sure 'Throw the draft away?'; then
          forget_draft
          note='The draft is gone.'
          return
        fi
        ;;
      *) return ;;
    esac
  done
}

# draft_key is the same for the same text, which is posted once however often it is sent, and another one for more.
draft_key() { printf '%s\n' "$id-$(cksum <"$draft" | tr ' ' -)"; }

# preview shows the draft.
preview() {
  sed 's/^/  /' "$draft" >"$tmp/preview"
  show_part "$tmp/preview"
}

# show_new shows what was said since the draft was written.
show_new() {
  tell "The room has moved since you wrote: $((r_version - ${from_version:-0})) new, passes counted.
"
  {
    if [ -n "$from_entry" ]; then
      substrate-read "$room" --space "$root" --from-entry "$from_entry" 2>/dev/null | sed 1d | said
    else
      substrate-read "$room" --space "$root" 2>/dev/null | said
    fi
  } >"$tmp/preview"
  show_part "$tmp/preview"
}

# show_part shows a file, or the end of one that is longer than the screen: long is set then.
show_part() {
  long=''
  folded "$cols" <"$1" >"$tmp/part"
  room_left=$((rows - taken - 11))
  [ "$room_left" -gt 2 ] || room_left=2
  if [ -n "$plain" ] || [ "$(wc -l <"$tmp/part")" -le "$room_left" ]; then
    tell "$(cat "$1")
"
  else
    long=yes
    tell "...
$(tail -n $((room_left - 1)) "$tmp/part")
"
  fi
}

# pass gives the turn up.
pass() {
  if sure "Give the turn in $room up?"; then
    run substrate-post "$room" --as "$me" --pass --expect "$r_version"
  fi
}
