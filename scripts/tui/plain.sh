#!/bin/sh
# plain: a room in lines that stay where they are, for screen readers and simple terminals. Sourced by substrate-tui.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# news prints what was said after the entry in $tmp/last, in plain lines.
news() {
  last=$(cat "$tmp/last" 2>/dev/null)
  if [ -n "$last" ]; then
    substrate-read "$room" --space "$root" --from-entry "$last" 2>/dev/null | sed 1d >"$tmp/news.json"
  else
    substrate-read "$room" --space "$root" --tail 10 >"$tmp/news.json" 2>/dev/null
  fi
  [ -s "$tmp/news.json" ] || return 0
  tail -n 1 "$tmp/news.json" | fields entry >"$tmp/last"
  said <"$tmp/news.json"
}

# follow prints it as it lands, while somebody is asked what to do, until it is told to end or we are no more.
follow() {
  (
    trap 'watch_stop; exit 0' TERM HUP
    watch_start
    was=$r_current
    while kill -0 $$ 2>/dev/null; do
      sleep 1 &
      wait $!
      changed || continue
      said=$(news)
      [ -z "$said" ] || printf '\n%s\n' "$said"
      load_room && arrived
      [ -z "$note" ] || printf '\n%s\n' "$note"
      note=''
    done
    watch_stop
  ) &
  reader=$!
}

follow_stop() {
  [ -n "$reader" ] || return 0
  kill "$reader" 2>/dev/null
  wait "$reader" 2>/dev/null
  reader=''
}
reader=''

view_plain() {
  rm -f "$tmp/last"
  while load_room; do
    printf '\n'
    about
    printf '\n'
    news
    show_note
    turn_line
    seen "$root" "$room" "$r_version"
    {
      [ "$r_status" = ended ] || say 'w  write'
      ! has_draft || say 's  send the draft'
      ! my_turn || say 'p  pass'
      say 'o  older entries'
      [ "$me" != "$r_moderator" ] || say 'm  moderate'
      say 'x  export the record'
      say 'b  ring a bell when the floor comes, or no longer'
      say 'l  look again'
      say 'q  back to the rooms'
    } >"$tmp/options"
    follow
    choose 'What?'
    chosen=$?
    follow_stop
    [ "$chosen" -eq 0 ] || break
    # What was printed meanwhile was seen; what was not is now, before it is answered.
    load_room || break
    news
    case $answer in
      q*) break ;;
      l*) ;;
      *) act "${answer%% *}" ;;
    esac
  done
}
