#!/usr/bin/env bash
# run.sh CMUX [MODELD]: the demo of `make demo`, with the cmux binary at that
# path and the scripted model of agents/testkit/modeltest/modeld.
# run.sh --web CMUX [MODELD]: what `make demo-web` shows in a browser: act one up to
# its gate, and act three. It prints a link to the dashboard of each, and leaves both
# there until Enter, the end of its input, or Ctrl+C.
#
# Act one runs demo/cmux-agents.yml, a graph of shell commands; act two (agents.sh)
# runs team/cmux-agents.yml, a graph of Claude Code agents, where MODELD is given
# and Claude Code is found, and act three (organization.sh) an organization of three
# of them, whose models follow organization/model.yml, and act four (rooms.sh) a room
# of two agents, whose models follow room/model.yml. All run in scratch
# repositories, through real tmux panes and git worktrees, and check that every node
# and task ended as told. Exit code 0: all did; 1: one did not. Nothing of it is left
# behind.
set -euo pipefail

program() { # the absolute path of a program that is there
  [ -x "$1" ] || { echo "$1 is no program: run make demo" >&2; exit 1; }
  echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
}
web=
if [ "${1:-}" = --web ]; then web=yes; shift; fi
cmux=$(program "${1:?usage: run.sh [--web] PATH-TO-CMUX [PATH-TO-MODELD]}")
modeld=${2:+$(program "$2")}
here=$(cd "$(dirname "$0")" && pwd)

# What the person's environment configures (keys, accounts, proxies, git, tmux)
# is neither used nor touched.
for name in $(compgen -e); do
  case $name in
    PATH | PWD | TERM | COLORTERM | NO_COLOR | LANG | LC_* | USER | LOGNAME) ;;
    *) unset "$name" 2>/dev/null || true ;;
  esac
done

scratch= watcher= model= server=
cleanup() {
  trap - EXIT
  trap '' INT TERM HUP
  [ -n "$scratch" ] || return
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
  for dir in "$scratch"/*/.cmux; do # ends what is still at work, if anything
    [ -d "$dir" ] && cd "${dir%/.cmux}" || continue
    for home in "$scratch/home" "$HOME"; do # the model's has another key
      HOME=$home cmux agents stop >/dev/null 2>&1 || true
      HOME=$home cmux stop >/dev/null 2>&1 || true
    done
  done
  cd /
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  while [ -n "$server" ] && kill -0 "$server" 2>/dev/null; do sleep 0.1; done
  tmux -L "$CMUX_TMUX_SOCKET" kill-server >/dev/null 2>&1 || true
  [ -z "$model" ] || kill "$model" 2>/dev/null || true
  wait
  cd /
  # A process on its way out may still write a last line.
  rm -rf "$scratch" 2>/dev/null || rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# All that is made lies below one short path (a socket's path ends near 100
# bytes): repositories, worktrees, home, tmux server.
scratch=$(mktemp -d /tmp/cmux-demo.XXXXXX)
cd "$scratch"
scratch=$(pwd -P)
mkdir home tmux bin
ln -s "$cmux" bin/cmux

export PATH="$scratch/bin:$PATH" HOME="$scratch/home" SHELL=/bin/sh
export TMUX_TMPDIR="$scratch/tmux" CMUX_TMUX_SOCKET=demo
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }
run() { # prints a command as one would type it, and runs it
  printf '$ %s\n' "$*"
  "$@"
}

repository() { # NAME CONFIG: a new repository with that configuration, to work in
  mkdir "$scratch/$1"
  cd "$scratch/$1"
  git init -q -b main
  git config user.name Demo
  git config user.email demo@localhost
  cp "$2" .cmux-agents.yml
  echo "A shop." > README
}

watch() { # FUNCTION: prints the changes of labels to the end of the run, and calls it with each
  printf '$ cmux agents status --watch\n'
  mkfifo "$scratch/changes"
  cmux agents status --watch > "$scratch/changes" &
  watcher=$!
  exec 3< "$scratch/changes"
  while IFS= read -r -t 120 line <&3; do
    printf '%s\n' "$line"
    "$1" "$line"
  done
  exec 3<&-
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" || true
  watcher=
  rm "$scratch/changes"
}

panes() { # SESSION
  run tmux -L "$CMUX_TMUX_SOCKET" list-panes -s -t "$1" -F '#{window_name} #{pane_id} #{?@cmux_node,#{@cmux_node}: #{@cmux_state},#{@cmux_label}}'
}

ended() { # prints how the run ended, and keeps it for field
  run cmux agents status
  # Columns are two spaces or more apart.
  cmux agents status | awk -F '  +' 'NR > 3 && NF > 6 { print $1 "|" $5 "|" $7 }' > "$scratch/ended"
}
field() { awk -F '|' -v n="$1" -v f="$2" '$1 == n { print $f }' "$scratch/ended"; }

wrong=0
expect() { # WHAT WANT GOT
  if [ "$2" = "$3" ]; then
    echo "ok     $1: $2"
  else
    echo "WRONG  $1: $3, not $2"
    wrong=1
  fi
}
files() { git ls-tree -r --name-only "$1" | grep -v '^\.' | sort | xargs; }

. "$here/commands.sh"
. "$here/agents.sh"
. "$here/organization.sh"
. "$here/rooms.sh"
echo "All of it happens in $scratch."
began=$(date +%s)
if [ -n "$web" ]; then
  . "$here/web.sh"
  dashboard
  echo "$scratch is removed now."
  exit "$wrong"
fi
commands
agents
organization
rooms
finish=$(date +%s)

echo
if [ "$wrong" = 0 ]; then
  echo "All as told, in $((finish - began)) s. $scratch is removed now."
  echo "The same in your browser: make demo-web"
else
  echo "Not as told." >&2
fi
exit "$wrong"
