#!/bin/sh
# state: what the flow itself remembers, in files that are nobody else's. Sourced by substrate-tui.
#
# seen has a line for each room: root, room, the version that was looked at last. A draft is a file below drafts/ in
# the path of its space, named after room and author; NAME.from beside it says which version it answers, the last
# entry of that, and the beginning of the key that makes sending it twice one post. Two flows at once may lose a mark of seen, which
# then shows entries as new that are not.
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts

# keep FILE replaces it by standard input, whole or not at all, for nobody else to read.
keep() {
  (
    umask 077
    mkdir -p "$(dirname "$1")" && cat >"$1.tmp$$" && mv -f "$1.tmp$$" "$1"
  )
}

# seen ROOT ROOM VERSION marks it.
seen() {
  [ "$marked" != "$1$us$2$us$3" ] || return 0
  marked=$1$us$2$us$3
  {
    [ ! -f "$state/seen" ] || LC_ALL=C awk -v "at=$1$us$2$us" 'index($0, at) != 1' "$state/seen"
    printf '%s\n' "$1$us$2$us$3"
  } | keep "$state/seen"
}

marked=''

# draft_at says where the draft of this room is, and what it answers.
draft_at() {
  draft=$state/drafts/${root#/}/=/$(printf '%s' "$room@$me" | tr / =).md
  from_version='' from_entry='' id=''
  # shellcheck disable=SC2162 # there are no backslashes in it
  [ ! -f "$draft.from" ] || IFS=$us read from_version from_entry id <"$draft.from"
}

# has_draft: is there something in it?
has_draft() { [ -f "$draft" ] && grep -q '[^[:space:]]' "$draft"; }

# answers VERSION ENTRY says what the draft was written in view of.
answers() {
  from_version=$1 from_entry=$2
  id=${id:-tui-$(date -u +%Y%m%d%H%M%S)-$(printf %07d $$)}
  printf '%s\n' "$from_version$us$from_entry$us$id" | keep "$draft.from"
}

forget_draft() {
  rm -f "$draft" "$draft.from"
  draft_at
}
