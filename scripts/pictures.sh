#!/usr/bin/env bash
# pictures.sh CMUX FOLDER: draws the pictures of the README into FOLDER, with the
# cmux binary CMUX. It starts a real run in a scratch
# repository and on a tmux server of its own, opens it in a terminal as a person
# would, and draws that terminal's screen (examples/pictures). Times and ids are
# replaced, so a picture changes only when cmux does.
set -euo pipefail

cmux=$(cd "$(dirname "${1:?usage: pictures.sh PATH-TO-CMUX FOLDER}")" && pwd)/$(basename "$1")
out=$(mkdir -p "${2:?usage: pictures.sh PATH-TO-CMUX FOLDER}" && cd "$2" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
go=${GO:-go}

# Everything is below one short path: a socket's path holds about 100 bytes.
scratch=$(cd "$(mktemp -d /tmp/cmux-pics.XXXXXX)" && pwd -P)
mkdir "$scratch"/{home,tmux,bin,stage,shop}
"$go" build -C "$here" -o "$scratch/bin/pictures" ./examples/pictures
ln -s "$cmux" "$scratch/bin/cmux"

for name in $(compgen -e); do
  case $name in
  PATH | PWD | USER | LOGNAME) ;;
  *) unset "$name" 2>/dev/null || true ;;
  esac
done
export PATH="$scratch/bin:$PATH" HOME="$scratch/home" SHELL=/bin/sh PS1='$ ' TERM=xterm-256color LC_ALL=C.UTF-8
export TMUX_TMPDIR="$scratch/tmux" CMUX_TMUX_SOCKET=run STAGE="$scratch/stage"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=You GIT_AUTHOR_EMAIL=you@example.com GIT_COMMITTER_NAME=You GIT_COMMITTER_EMAIL=you@example.com

finish() {
  trap - EXIT
  cd "$scratch/shop" 2>/dev/null && cmux agents stop >/dev/null 2>&1 || true
  for name in panes monitor graph; do screen "$name" kill-server 2>/dev/null || true; done
  tmux -L run kill-server 2>/dev/null || true
  cd /
  rm -rf "$scratch" 2>/dev/null || rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# until_true WHAT COMMAND...: waits for a fact, 40 seconds at most.
until_true() {
  local what=$1 tries=0
  shift
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 400 ] || missing "$what"
    sleep 0.1
  done
}

missing() {
  echo "pictures.sh: $1 did not appear. The screens and the run:" >&2
  { for name in panes monitor graph; do screen "$name" capture-pane -p -t s || true; done; cmux agents status || true; } >&2
  exit 1
}

# A terminal is a tmux server with one pane, named as its picture.
screen() { # screen NAME TMUX-COMMAND...
  local name=$1
  shift
  tmux -L "screen-$name" -f /dev/null "$@"
}
open() { # open NAME COLUMNS LINES COMMAND
  screen "$1" new-session -d -s s -x "$2" -y "$3" "unset TMUX TMUX_PANE; $4"
  screen "$1" set-option -g status off
}
shows() { screen "$1" capture-pane -p -t s | grep -q -- "$2"; }
hides() { ! shows "$@"; }
selects() { shows monitor "^▸.*$1" || { screen monitor send-keys -t s j && false; }; }
take() { # take NAME COLUMNS TITLE
  screen "$1" capture-pane -e -p -t s | pictures -cols "$2" -title "$3" >"$scratch/$1.svg"
  mv "$scratch/$1.svg" "$out/$1.svg"
}

cat >"$STAGE/say" <<'SH'
#!/bin/sh
# say NODE: what the node's program prints; then it works until it is ended.
ok=$(printf '\033[32m'); bad=$(printf '\033[31m'); note=$(printf '\033[36m'); off=$(printf '\033[0m')
case $1 in
api) echo "${note}> GET /items with paging${off}
  edit   api/items.go      +64 -3
  edit   api/items_test.go +41
${note}> go test ./api/...${off}
${ok}ok${off}     shop/api         0.41s
${ok}ok${off}     shop/api/page    0.12s
${note}> the price filter next${off}" ;;
web) echo "${note}> the list of products, 20 a page${off}
  edit   web/list.ts       +58
${note}> npm test${off}
${ok} PASS${off}  list.test.ts
${bad} FAIL${off}  pager.test.ts: want 20 rows, got 21
  edit   web/pager.ts      +1 -1" ;;
search) echo "${note}> an index over name${off}
  edit   search/index.go   +80
  edit   search/rank.go    +33
${note}> go test ./search/...${off}" ;;
mail) echo "${note}> templates for order and refund${off}
  edit   mail/order.tmpl   +22
  edit   mail/refund.tmpl  +19
${ok}ok${off}     2 templates render" ;;
esac
touch "$STAGE/$1.said"
exec sleep 3600
SH

cat >"$STAGE/after" <<'SH'
#!/bin/sh
# after NODE: waits until the node has printed its lines.
until [ -e "$STAGE/$1.said" ]; do sleep 0.1; done
SH

cat >"$STAGE/commit" <<'SH'
#!/bin/sh
mkdir -p "$(dirname "$1")"
yes "// line" | head -n 24 >"$1"
git add "$1" && git commit -q -m "Add an LRU cache"
SH

chmod +x "$STAGE"/*

cd "$scratch/shop"
git init -q -b main
cp "$here/examples/pictures/cmux-agents.yml" .cmux-agents.yml
cat >load-test <<'SH'
#!/bin/sh
echo "1,000 requests, 20 at a time"
echo "p50  41 ms"
echo "p99 480 ms, want 300 ms"
exit 1
SH
chmod +x load-test
git add -A
git commit -q -m "A shop"
cmux agents start --yes --detach >/dev/null

status() { cmux agents status | grep -Eq "$1"; }
for node in api web search mail; do
  until_true "the output of $node" test -e "$STAGE/$node.said"
done
until_true "the failure of cache" status '^cache .*failed'
until_true "the question of approval" status '^approval .*needs input'

# The status line shows the keys for a while at first, so the panes are opened
# first and drawn last. In the monitor an age of one digit would be narrower.
open panes 142 23 "cmux agents attach web"
until_true "the panes" shows panes 'want 20 rows'

open monitor 112 22 "cmux agents top"
until_true "the monitor" shows monitor 'running  *[0-9]*s'
screen monitor send-keys -t s Home
until_true "the node cache" selects '├ cache'
until_true "the failed check" shows monitor 'want 300'
until_true "ages of two digits" hides monitor 'running  *[0-9]s'
take monitor 112 "cmux agents top"

open graph 72 15 "cmux agents graph; exec sleep 60"
until_true "the graph" shows graph 'mail'
take graph 72 "cmux agents graph"

until_true "the status line" shows panes '1 needs you: F8 *· 1 failed · 4/13 done'
until_true "the status line without keys" hides panes 'F9 monitor'
take panes 142 "cmux agents attach"
