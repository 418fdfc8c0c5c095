# Act two: ../team/cmux-agents.yml, four Claude Code agents whose model follows
# the script ../team/model.yml. Sourced by run.sh.

oldest_claude=2.1.329 # the oldest that cmux is tested with

# A Claude Code that works: the one that the tests installed, else the person's.
# Sets claude to its path and puts it first in PATH, or sets missing to what is wrong.
find_claude() {
  claude= missing="Claude Code is not installed"
  [ -n "$modeld" ] || { missing="no scripted model was given"; return; }
  local installed=$here/../../.agents-cli path version
  for path in "$installed/node_modules/.bin/claude" "$(command -v claude)"; do
    [ -x "$path" ] || continue
    # .ci/agents writes this when all of it is there.
    [ "$path" != "$installed/node_modules/.bin/claude" ] || [ -e "$installed/installed" ] || continue
    version=$("$path" --version </dev/null 2>/dev/null | awk 'NR == 1 { print $1 }') || version=
    if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]]; then
      missing="$path --version says no version"
    elif ! printf '%s\n' "$oldest_claude" "$version" | sort -c -t . -k 1,1n -k 2,2n -k 3,3n 2>/dev/null; then
      missing="$path is version $version, and $oldest_claude is needed"
    else
      claude=$path
      ln -s "$claude" "$scratch/bin/claude"
      return
    fi
  done
}

# start_model NAME SCRIPTS: a model that serves on loopback, with a home for Claude
# Code in which nothing is the person's; the rest of the demo runs with that home's
# environment. It takes the place of the one before.
start_model() {
  local term=${TERM-}
  [ -z "$model" ] || { kill "$model"; wait "$model" || true; }
  "$modeld" -scripts "$2" -home "$scratch/agents-$1" -env-file "$scratch/env-$1" -addr-file "$scratch/model-$1" "$PWD" >/dev/null &
  model=$!
  until [ -e "$scratch/model-$1" ]; do
    kill -0 "$model" 2>/dev/null || { echo "$modeld has ended" >&2; exit 1; }
    sleep 0.1
  done
  . "$scratch/env-$1"
  export TERM="${term:-$TERM}"
}

panes_shown=
show_panes() { # LINE of the watch: shows the panes when receipt works in one
  case $1 in *" receipt: running"*)
    if [ -z "$panes_shown" ]; then
      panes_shown=yes
      say "price and catalog are done, and receipt starts from the merge of their branches. The panes:"
      panes team
      say "... and it goes on:"
    fi
  esac
}

log() { # NODE: its log without the prompt, from its first thought
  printf '$ cmux agents logs %s\n...\n' "$1"
  cmux agents logs "$1" | sed -n '/^~ /,$p'
}

agents() {
  find_claude
  if [ -z "$claude" ]; then
    say "Acts two to four are left out: $missing. In act two four Claude Code agents would build and review a small shop in tmux panes, one sent back by a check and one kept from writing where it may not, with a script for a model: no account, no network. In act three a supervisor and two workers would open a shop, and in act four two agents would talk with you in a room."
    echo "To see it: npm install -g @anthropic-ai/claude-code, then make demo (which installs it into .agents-cli where it is missing)."
    return
  fi

  say "Act two: four Claude Code agents, in $scratch/corner. Claude Code is real; its model is a script on loopback."
  repository corner "$here/../team/cmux-agents.yml"
  git add -A
  git commit -q -m "A corner shop"
  start_model corner "$here/../team/model.yml"

  say "Start it:"
  run cmux agents start --yes --detach

  say "Watch it:"
  watch show_panes

  code=0
  say "Wait for the end:"
  run cmux agents wait --timeout 120s || code=$?
  echo "exit code $code"

  say "How it ended:"
  ended

  say "price reported too early: a check failed, and it was sent back. What it did (~ it thinks, * it calls, > it is told):"
  log price

  say "catalog was about to write where price works, and was refused:"
  log catalog

  say "Their commits, and receipt's on top of both:"
  run git log --graph --oneline --decorate main..team/receipt

  say "Clean up, and read what the reviewer reported:"
  run cmux agents cleanup --yes
  run sed -n '/^## reviewer/,$p' .cmux/runs/*/CHANGELOG.md

  say "Does it match the story?"
  for node in price catalog receipt reviewer; do
    expect "$node" done "$(field $node 2)"
    expect "attempts of $node" 1 "$(field $node 3)"
  done
  expect "exit code of wait" 0 "$code"
  expect "times that price was sent back" 1 "$(cmux agents logs price | grep -c '^── cmux: check failed')"
  expect "writes of catalog that were refused" 1 "$(cmux agents logs catalog | grep -c 'price/items.txt is refused')"
  expect "files in team/price" "README price/total.sh" "$(files team/price)"
  expect "files in team/catalog" "README catalog/items.txt" "$(files team/catalog)"
  expect "files in team/receipt" "README catalog/items.txt price/total.sh receipt/print.sh" "$(files team/receipt)"
  expect "reports of the reviewer with the total" 1 "$(grep -c '^The receipt ends in "total 1694"' .cmux/runs/*/CHANGELOG.md)"
  expect "worktrees left" 1 "$(git worktree list | wc -l | xargs)"
}
