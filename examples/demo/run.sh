#!/usr/bin/env bash
# run.sh CMUX: the demo of `make demo`, with the cmux binary at that path.
#
# It runs demo/cmux-agents.yml in a scratch repository, through real tmux panes
# and git worktrees, and checks that every node ended as the graph's comments
# say. Exit code 0: it did; 1: it did not. Nothing of it is left behind.
set -euo pipefail

cmux=${1:?usage: run.sh PATH-TO-CMUX}
[ -x "$cmux" ] || { echo "$cmux is no program: run make first" >&2; exit 1; }
cmux=$(cd "$(dirname "$cmux")" && pwd)/$(basename "$cmux")
here=$(cd "$(dirname "$0")" && pwd)

# All that is made lies below one short path (a socket's path ends near 100
# bytes): repository, worktrees, home, tmux server.
scratch=$(mktemp -d /tmp/cmux-demo.XXXXXX)
scratch=$(cd "$scratch" && pwd -P)
mkdir "$scratch/home" "$scratch/tmux" "$scratch/bin" "$scratch/shop"
ln -s "$cmux" "$scratch/bin/cmux"

unset TMUX TMUX_PANE CMUX_HOME GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export PATH="$scratch/bin:$PATH" HOME="$scratch/home" SHELL=/bin/sh
export TMUX_TMPDIR="$scratch/tmux" CMUX_TMUX_SOCKET=demo
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
cd "$scratch/shop"

watcher=
cleanup() {
  trap - EXIT
  trap '' INT TERM HUP
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
  cmux agents stop >/dev/null 2>&1 || true # ends what is still at work, if anything
  tmux -L "$CMUX_TMUX_SOCKET" kill-server >/dev/null 2>&1 || true
  cd /
  # A process on its way out may still write a last line.
  rm -rf "$scratch" 2>/dev/null || rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }
run() { # prints a command as one would type it, and runs it
  printf '$ %s\n' "$*"
  "$@"
}

say "A scratch repository with a graph of eleven nodes, in $scratch/shop"
git init -q -b main
git config user.name Demo
git config user.email demo@localhost
cp "$here/cmux-agents.yml" .cmux-agents.yml
echo "A shop." > README
cat > test.sh <<'SH'
# Every page that is there says something.
for page in */*.txt; do
  [ ! -e "$page" ] || [ -s "$page" ] || { echo "$page is empty"; exit 1; }
done
SH
git add -A
git commit -q -m "A shop"
began=$(date +%s)

say "Start it. The table is what cmux is about to do; without --yes it would ask, and without --detach it would show the panes."
run cmux agents start --yes --detach

say "Watch it. It goes on by itself until the gate waits for a person."
printf '$ cmux agents status --watch\n'
mkfifo "$scratch/changes"
cmux agents status --watch > "$scratch/changes" &
watcher=$!
exec 3< "$scratch/changes"
opened=
while IFS= read -r -t 60 line <&3; do
  printf '%s\n' "$line"
  case $line in *" approval: needs input"*)
    if [ -z "$opened" ]; then
      opened=yes
      say "Each attempt has a pane of its own (cmux agents attach would show them):"
      run tmux -L "$CMUX_TMUX_SOCKET" list-panes -s -t demo -F '#{window_name} #{pane_id} #{@cmux_label}'
      say "The gate waits. Any marker that a person makes is a decision, so this opens it:"
      run touch .cmux/signals/approval.done
      say "... and release, which waited for it, starts:"
    fi
  esac
done
exec 3<&-
kill "$watcher" 2>/dev/null || true
wait "$watcher" || true
watcher=

code=0
say "Wait for the end. Exit code 3 says that a node is not done, which is so: e2e failed."
run cmux agents wait --timeout 30s || code=$?
echo "exit code $code"

say "How it ended:"
run cmux agents status
# Columns are two spaces or more apart.
cmux agents status | awk -F '  +' 'NR > 3 && NF > 6 { print $1 "|" $5 "|" $7 }' > "$scratch/ended"
finish=$(date +%s)

say "What the failing node wrote, and the one that was tried twice:"
run cmux agents logs e2e
run cmux agents logs cache

say "What the review read:"
run cmux agents logs review

say "The branches that the run made, and the merge of them:"
run git branch --list 'demo/*'
run git log --graph --oneline demo/release

say "Clean up: worktrees go, branches stay."
run cmux agents cleanup --yes

say "Does it match the story?"
wrong=0
expect() { # WHAT WANT GOT
  if [ "$2" = "$3" ]; then
    echo "ok     $1: $2"
  else
    echo "WRONG  $1: $3, not $2"
    wrong=1
  fi
}
field() { awk -F '|' -v n="$1" -v f="$2" '$1 == n { print $f }' "$scratch/ended"; }
for node in schema api web docs cache review release; do
  expect "$node" done "$(field $node 2)"
done
expect "attempts of cache" 2 "$(field cache 3)"
expect e2e "failed (exit 7)" "$(field e2e 2)"
expect publish "blocked (e2e failed)" "$(field publish 2)"
expect announce "blocked (publish blocked)" "$(field announce 2)"
expect approval "done (override)" "$(field approval 2)"
expect "exit code of wait" 3 "$code"
expect "files in demo/release" "README api/routes.txt cache/whole.txt docs/index.txt schema.txt test.sh web/pages.txt" \
  "$(git ls-tree -r --name-only demo/release | grep -v '^\.' | sort | xargs)"
expect "worktrees left" 1 "$(git worktree list | wc -l | xargs)"

echo
if [ "$wrong" = 0 ]; then
  echo "All as told, in $((finish - began)) s. $scratch is removed now."
else
  echo "Not as told." >&2
fi
exit "$wrong"
