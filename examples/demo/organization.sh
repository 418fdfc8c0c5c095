# Act three: a standing organization, whose supervisor and two workers are Claude
# Code with the script ../organization/model.yml for a model. Sourced by run.sh
# after act two, whose model and environment it uses.

until_shown() { # REGEX COMMAND...: waits until the command prints a line like it
  local regex=$1 try
  shift
  for try in $(seq 600); do
    "$@" 2>/dev/null | grep -qE "$regex" && return
    sleep 0.1
  done
  echo "WRONG  $*: never printed $regex; at the end:" >&2
  "$@" >&2 || true
  wrong=1
}

market() { # the organization, from its start to the merge
  say "Act three: an organization that stays, in $scratch/market: a supervisor that you talk to, and the workers that it makes."
  repository market /dev/null
  rm .cmux-agents.yml
  cat > shop.sh <<'EOF'
for g in goods/*; do [ ! -e "$g" ] || echo "${g#goods/} $(cat "$g")"; done
EOF
  mkdir goods
  git add -A
  git commit -q -m "An empty shop"
  mkdir .cmux
  cp "$here/../organization/config.yml" .cmux/config.yml
  start_model market "${story:-$here/../organization/model.yml}"

  say "Start it:"
  run cmux start --detach
  until_shown '^supervisor +.* idle' cmux status

  say "Tell the supervisor what you want (or type it in its window: cmux attach):"
  run cmux mailbox send supervisor "Please open a shop" "It sells bread and milk."
  until_shown '^t2 .* (assigned|working|checking|done)' cmux tasks list --all

  say "It made two workers and gave each a task:"
  run cmux status
  until_shown '^baker .* working|^t1 .* (working|checking|done)' cmux tasks list --all
  printf '$ tmux list-windows\n'
  tmux -L "$CMUX_TMUX_SOCKET" list-windows -t "=cmux-market:" -F '#{window_index} #{window_name}'

  say "The baker's price was none: its check failed, and cmux sent it back. When both are done, the supervisor merges:"
  until_shown 'main +bread 320 +milk 145' merged
  run cmux tasks list --all
  run git log --graph --oneline main
  run cmux tasks show t1
  run sh shop.sh
}

organization() {
  [ -n "$claude" ] || return 0
  local began=$(date +%s)
  market

  say "Stop it; cmux start would bring everybody back, in the same conversations:"
  run cmux stop

  echo "Act three took $(($(date +%s) - began)) s."

  say "Does it match the story?"
  for task in t1 t2; do
    expect "task $task" done "$(cmux tasks show "$task" | sed -n 's/^State  *\([a-z]*\).*/\1/p')"
  done
  expect "times that the baker was sent back" 1 "$(cmux logs baker | grep -c '^── cmux: check failed')"
  expect "goods in main" "bread milk" "$(git ls-tree --name-only main:goods | xargs)"
  expect "changes left in main's folder" 0 "$(git status --porcelain | wc -l | xargs)"
}

merged() { # what main sells, in one line
  echo "main $(git ls-tree --name-only main:goods 2>/dev/null | while read -r g; do printf '%s %s ' "$g" "$(git show "main:goods/$g")"; done)"
}
