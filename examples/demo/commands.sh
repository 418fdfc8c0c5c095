# Act one: cmux-agents.yml, a graph of eleven shell commands. Sourced by run.sh.

gate_opened=
open_gate() { # LINE of the watch: opens the gate when it waits
  case $1 in *" approval: needs input"*)
    if [ -z "$gate_opened" ]; then
      gate_opened=yes
      say "Each attempt has a pane of its own (cmux agents attach would show them):"
      panes demo
      say "The gate waits. Any marker that a person makes is a decision, so this opens it:"
      run touch .cmux/signals/approval.done
      say "... and release, which waited for it, starts:"
    fi
  esac
}

shop() { # the repository of act one
  say "Act one: a graph of eleven shell commands, in $scratch/shop"
  repository shop "$here/cmux-agents.yml"
  cat > test.sh <<'SH'
# Every page that is there says something.
for page in */*.txt; do
  [ ! -e "$page" ] || [ -s "$page" ] || { echo "$page is empty"; exit 1; }
done
SH
  git add -A
  git commit -q -m "A shop"
}

commands() {
  shop
  say "Start it. The table is what cmux is about to do; without --yes it would ask, and without --detach it would show the panes."
  run cmux agents start --yes --detach

  say "Watch it. It goes on by itself until the gate waits for a person."
  watch open_gate

  code=0
  say "Wait for the end. Exit code 3 says that a node is not done, which is so: e2e failed."
  run cmux agents wait --timeout 120s || code=$?
  echo "exit code $code"

  say "How it ended:"
  ended

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
  for node in schema api web docs cache review release; do
    expect "$node" done "$(field $node 2)"
  done
  expect "attempts of cache" 2 "$(field cache 3)"
  expect e2e "failed (exit 7)" "$(field e2e 2)"
  expect publish "blocked (e2e failed)" "$(field publish 2)"
  expect announce "blocked (publish blocked)" "$(field announce 2)"
  expect approval "done (override)" "$(field approval 2)"
  expect "exit code of wait" 3 "$code"
  expect "files in demo/release" "README api/routes.txt cache/whole.txt docs/index.txt schema.txt test.sh web/pages.txt" "$(files demo/release)"
  expect "worktrees left" 1 "$(git worktree list | wc -l | xargs)"
}
