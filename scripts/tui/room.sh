#!/bin/sh
# room: one room, as it is and as it goes on. Sourced by substrate-tui.
#
# substrate-watch says in the background that something has changed; what has, the room tells: so nothing that was
# missed or said twice can make the screen wrong. The version that a post expects is taken before the entries are
# read: what was shown may be newer than it, never older.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

load_room() {
  substrate-list "$room" --space "$root" >"$tmp/room.json" 2>"$tmp/err" || {
    listed=$?
    note=$(cat "$tmp/err")
    return "$listed"
  }
  fields topic status moderator current paused turn_order quieted version floor_since <"$tmp/room.json" >"$tmp/room"
  IFS=$us read -r r_topic r_status r_moderator r_current r_paused r_order r_quieted r_version r_since <"$tmp/room"
  mkdir -p "$tmp/bodies/$root/$room"
  substrate-read "$room" --space "$root" --tail $((rows / 2 + 1)) >"$tmp/tail.json" 2>"$tmp/err" ||
    note=$(cat "$tmp/err")
  bodies "$tmp/bodies/$root/$room" <"$tmp/tail.json" >"$tmp/index"
  last_entry=$(tail -n 1 "$tmp/index" | cut -d "$us" -f 1)
  draft_at
}

# about says how the room is: topic, order with the floor, who is quiet, whether it waits or has ended.
about() {
  say "$room: $r_topic"
  say "$r_order" | LC_ALL=C awk -v "floor=$r_current" -v "moderator=$r_moderator" -v "quieted=$r_quieted" \
    -v "ended=$r_status" '
    BEGIN { n = split(quieted, q, ","); for (i = 1; i <= n; i++) { split(q[i], p, " "); quiet[p[1]] = p[2] } }
    {
      n = split($0, who, ",")
      printf "turns: "
      for (i = 1; i <= n; i++) {
        more = ""
        if (who[i] == floor && ended != "ended") more = ", has the floor"
        if (who[i] == moderator) more = more ", moderator"
        if (who[i] in quiet) more = more ", quiet for " quiet[who[i]]
        if (more != "") more = " (" substr(more, 3) ")"
        printf "%s%s%s", (i > 1 ? ", " : ""), who[i], more
      }
      print ""
    }'
  since=$(say "$r_since" | awk -v "now=$(clock)" "$age_awk"'{ print age($0) }')
  case $since in now) since='just now' ;; *) since="$since ago" ;; esac
  case $r_version in
    0) count='no entry yet, opened' ;;
    1) count='1 entry,' ;;
    *) count="$r_version entries, the last" ;;
  esac
  if [ "$r_status" = ended ]; then
    say "ended; $count $since"
  elif [ "$r_paused" = true ] && [ "$r_current" != "$me" ]; then
    say "paused: it waits for its moderator; $count $since"
  else
    say "$count $since"
  fi
}

my_turn() { [ "$r_current" = "$me" ] && [ "$r_status" = active ]; }

# turn_line says whose turn it is when it is ours, and what the draft is about.
turn_line() {
  if my_turn; then
    if has_draft; then say "IT IS YOUR TURN, and a draft of yours waits."; else say "IT IS YOUR TURN."; fi
  elif has_draft; then
    if [ "$r_status" = ended ]; then say "A draft of yours is kept."; else say "A draft of yours waits for the floor."; fi
  fi
}

# watch_start has substrate-watch say in $tmp/watch when something changes, and changed looks whether it has. It ends by
# itself after a while and then begins again, so that one which outlives us, because we were killed, does not for long.
# What changes before it has begun to look it does not say: we look ourselves a little later, and once in a while.
watch_start() {
  : >"$tmp/watch"
  exec 3<"$tmp/watch"
  ticks=1
  substrate-watch "$room" --space "$root" --timeout 10m </dev/null >"$tmp/watch" 2>/dev/null &
  watch=$!
}

changed() {
  event=''
  while read -r line <&3; do event=$line; done
  ticks=$((ticks + 1))
  if ! kill -0 "$watch" 2>/dev/null; then
    watch_start
    ticks=0
  fi
  [ -n "$event" ] || [ "$ticks" -eq 4 ] || [ $((ticks % 60)) -eq 0 ]
}

watch_stop() {
  [ -n "$watch" ] || return 0
  kill "$watch" 2>/dev/null
  wait "$watch" 2>/dev/null
  watch=''
}

view() {
  was=''
  if [ -n "$plain" ]; then view_plain; else view_drawn; fi
  watch_stop
}

# arrived rings when the floor has become ours while we looked.
arrived() {
  if [ -n "$was" ] && [ "$was" != "$me" ] && my_turn; then
    note="The floor has come to you."
    [ -z "$bell" ] || printf '\a'
  fi
  was=$r_current
}
bell=''

# draw fills the screen: how the room is, the newest entries, what there is to do.
draw() {
  width=$((cols - 1))
  rule=$(awk -v "n=$width" 'BEGIN { while (n-- > 0) printf "-" }')
  {
    say "$rule"
    [ -z "$note" ] || say "$note" | folded "$width" | tail -n $((rows / 3))
    turn_line | folded "$width"
    say "$1" | folded "$width"
  } | tail -n $((rows / 2)) >"$tmp/foot"
  # On a screen of a few lines the entries come last, for there is the pager.
  {
    about | folded "$width" | head -n $((rows - $(wc -l <"$tmp/foot") - 4))
    say "$rule"
  } >"$tmp/head"
  turn=$(turn_line | head -n 1 | cut -c 1-6)
  left=$((rows - $(wc -l <"$tmp/head") - $(wc -l <"$tmp/foot") + 0))
  [ "$left" -gt 0 ] || left=1
  entries "$left" >"$tmp/tail"
  {
    printf '\033[?25l\033[H'
    awk -v k='\033[K' 'NR == 1 { printf "\033[1m%s\033[0m%s\n", $0, k; next } { printf "%s%s\n", $0, k }' "$tmp/head"
    awk -v "n=$left" -v k='\033[0m\033[K' '{ line[NR] = $0 } END {
      for (i = NR; i < n; i++) print k
      for (i = 1; i <= NR; i++) printf "%s%s\n", line[i], k }' "$tmp/tail"
    awk -v k='\033[K' -v turn="${turn:-none}" -v bright="$here_now" '
      NR > 1 { printf "\n" } { printf "%s%s\033[0m%s", (index($0, turn) == 1 ? bright : ""), $0, k }' "$tmp/foot"
    printf '\033[J'
  } >"$tmp/frame"
  cat "$tmp/frame"
}

# entries LINES prints the newest entries, as many lines of them as there is room for.
entries() {
  set_at=$tmp/set/$cols/$root/$room
  mkdir -p "$set_at"
  have=0
  : >"$tmp/files"
  upside_down <"$tmp/index" >"$tmp/newest"
  while IFS=$us read -r entry author time; do
    if [ ! -f "$set_at/$entry" ]; then
      rendered "$tmp/bodies/$root/$room/$entry" "$tmp/rendered" "$width"
      {
        printf '%s\033[0m, %s\n' "$by$author" "$time" | folded "$width"
        cat "$tmp/rendered"
        say ''
      } >"$set_at/$entry"
    fi
    say "$set_at/$entry" >>"$tmp/files"
    have=$((have + $(wc -l <"$set_at/$entry") + 0))
    [ "$have" -lt "$1" ] || break
  done <"$tmp/newest"
  upside_down <"$tmp/files" | while IFS= read -r f; do cat "$f"; done | sed '$d' | tail -n "$1"
}

upside_down() { awk '{ line[NR] = $0 } END { for (i = NR; i > 0; i--) print line[i] }'; }

keys_off() {
  trap - WINCH
  printf '\033[?25h\033[H\033[2J'
}

# view_drawn shows the room until a key asks for something, and shows it again after that.
view_drawn() {
  watch_start
  printf '\033[?1049h\033[H\033[2J'
  trap 'resized=yes' WINCH
  look=yes
  while [ -t 0 ]; do
    if [ -n "$resized" ]; then
      resized=''
      measure
      look=yes
    fi
    ! changed || look=yes
    if [ -n "$look" ]; then
      look=''
      # One that is being changed just now is looked at once more; the others are not to be had.
      load_room || { [ $? -eq 111 ] && [ -n "$was" ]; } || break
      arrived
      draw "$(keys)"
      seen "$root" "$room" "$r_version"
    fi
    key=$(dd bs=32 count=1 2>/dev/null)
    [ -n "$key" ] || continue
    look=yes note=''
    case $key in
      q | "$(printf '\033')") break ;;
      b) act b ;;
      w | e | s | p | o | m | x | '?')
        keys_off
        act "$key"
        printf '\033[?1049h\033[H\033[2J'
        trap 'resized=yes' WINCH
        measure
        ;;
    esac
  done
  keys_off
}

# keys names those that lead somewhere now.
keys() {
  k=''
  [ "$r_status" = ended ] || k='w write  '
  ! has_draft || k="${k}s send the draft  "
  ! my_turn || k="${k}p pass  "
  k="${k}o older  "
  [ "$me" != "$r_moderator" ] || k="${k}m moderate  "
  say "${k}? more  q back"
}

act() {
  case $1 in
    w | e)
      if [ "$r_status" = ended ]; then
        later 'The room has ended: no more entries.'
      elif [ "$1" = w ]; then
        write_draft '' && deliver
      else
        write_draft 'nano vim vi ed' && deliver
      fi
      ;;
    s) deliver ;;
    p) pass ;;
    o) older ;;
    m) moderate ;;
    x) export_room ;;
    b)
      note='No bell.'
      if [ -n "$bell" ]; then bell=''; else bell=yes note='A bell rings when the floor comes to you.'; fi
      ;;
    *)
      screen "In $room"
      tell "$(agents "$r_order" | sed 's/.*/& is an agent: substrate-attend & --exec COMMAND takes its turns/')"
      options 'w  write, or go on with the draft' 'e  write with an editor' 's  send the draft' \
        'p  pass: give the turn up' 'o  older entries' 'm  moderate' 'x  export the record' \
        'b  ring a bell when the floor comes, or no longer' 'back to the room'
      choose 'By key, or here' || return
      case $answer in back*) ;; *) act "${answer%% *}" ;; esac
      ;;
  esac
}

# older shows what was said before, in the pager. Of a long room it is the end; all of it is a command.
older() {
  busy "Reading $room" substrate-read "$room" --space "$root" --tail 500
  {
    [ "$r_version" -le 500 ] || say "The newest 500 of $r_version entries. All of them: substrate-read $room --text" ''
    said <"$tmp/out"
    cat "$tmp/err"
  } >"$tmp/older"
  [ -s "$tmp/older" ] || say 'Nothing was said yet.' >"$tmp/older"
  page "$tmp/older"
}
