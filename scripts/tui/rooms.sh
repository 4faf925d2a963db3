#!/bin/sh
# rooms: the list of rooms, from which everything else is reached. Sourced by substrate-tui.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# list_rooms makes $tmp/rooms: root, room, and a line about each, in columns where there is room for them; those first
# where it is our turn, those that have ended last. What cannot be read is said in note.
list_rooms() {
  if [ -n "$every" ]; then
    substrate-list -A >"$tmp/list.json" 2>"$tmp/err"
  else
    substrate-list --space "$root" >"$tmp/list.json" 2>"$tmp/err"
  fi
  [ ! -s "$tmp/err" ] || later "$(cat "$tmp/err")"
  cat "$state/seen" >"$tmp/seen" 2>/dev/null
  fields root thread label topic status current paused version floor_since <"$tmp/list.json" |
    LC_ALL=C awk -F "$us" -v "us=$us" -v "me=$me" -v "every=$every" -v "now=$(clock)" -v "seen=$tmp/seen" \
      -v "format=$1" "$age_awk"'
      BEGIN { while ((getline mark <seen) > 0) { split(mark, m, us); had[m[1] us m[2]] = m[3] } }
      {
        new = $8 - had[$1 us $2]
        if (new < 0) new = 0
        turn = $5 == "ended" ? "ended" : $6 == me ? "YOUR TURN" : "turn: " $6
        rank = $5 == "ended" ? 3 : $6 == me ? 1 : 2
        name = every && $3 != "" ? $3 "/" $2 : $2
        printf "%d%s%s%s%s%s" format "\n", rank, us, $1, us, $2, us, name, turn, age($9), new " new", $4
      }' | LC_ALL=C sort -s -t "$us" -k 1,1 | cut -d "$us" -f 2- >"$tmp/rooms"
}

rooms() {
  while :; do
    # On a narrow terminal a line does not hold what there is to say of a room: it is said in several before the list.
    measure
    narrow=''
    [ -n "$plain" ] || [ "$cols" -ge 64 ] || narrow=yes
    if [ -n "$plain$narrow" ]; then list_rooms '%s: %s, %s, %s: %s'; else list_rooms '%-16s %-14s %-6s %-7s %s'; fi
    count=$(wc -l <"$tmp/rooms" | tr -d ' ')
    title="Rooms of ${label:-$root}, as $me"
    [ -z "$every" ] || title="Rooms of all spaces of this machine, as $me"
    screen "$title"
    [ "$count" -gt 0 ] || tell 'There is no room yet: open one.'
    [ -z "$narrow" ] || tell "$(cut -d "$us" -f 3 "$tmp/rooms" | folded "$cols" | head -n $((rows / 2)))"
    {
      cut -d "$us" -f 3 "$tmp/rooms"
      say '+ open a new room'
      say '+ register participants'
      if [ -n "$every" ]; then say '* only this space'; else say '* all spaces of this machine'; fi
      say '* look again'
      say '* spaces'
      say '* doctor: what is wrong here?'
      say '* leave'
    } | sed 's/ *$//' >"$tmp/options"
    sift 'Which room, or what?'
    case $? in 1) return 0 ;; 2) continue ;; esac
    if [ "$picked" -le "$count" ]; then
      row=$(sed -n "${picked}p" "$tmp/rooms")
      went=$root
      root=${row%%"$us"*} row=${row#*"$us"}
      room=${row%%"$us"*}
      [ "$root" = "$went" ] || space_here "$root"
      view
      [ "$root" = "$went" ] || space_here "$went"
      continue
    fi
    case $answer in
      '+ open'*) open_room ;;
      '+ register'*) join ;;
      '* all'*) every=yes ;;
      '* only'*) every='' ;;
      '* spaces') spaces ;;
      '* doctor'*) doctor ;;
      '* leave') return 0 ;;
    esac
  done
}
