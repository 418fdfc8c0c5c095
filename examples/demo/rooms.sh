# Act four: a room in which you talk with two agents at once, Claude Code and Codex, or
# Claude Code twice where Codex is not installed. Their models follow ../room/model.yml.
# Sourced by run.sh after act three, whose environment it uses.

# find_codex sets codex to the Codex that the tests installed, else the person's.
find_codex() {
  codex=
  local path
  for path in "$here/../../.agents-cli/node_modules/.bin/codex" "$(command -v codex)"; do
    [ -x "$path" ] && "$path" --version </dev/null >/dev/null 2>&1 || continue
    codex=$path
    [ -e "$scratch/bin/codex" ] || ln -s "$codex" "$scratch/bin/codex"
    return
  done
}

# ask_room begins the room design in the project of the folder, and asks both members.
ask_room() {
  find_codex
  local members=claude=ada,codex=bob
  [ -n "$codex" ] || members=claude=ada,claude=bob
  run cmux rooms start design --agents "$members" --topic "Where to keep the sessions"
  say "Ask; --wait prints what was said when the room has come to rest:"
  run cmux rooms say design "Postgres or SQLite for the sessions?" --wait --timeout 2m
}

rooms() {
  [ -n "$claude" ] || return 0
  local began=$(date +%s)
  say "Act four: a room, in $scratch/cellar: you ask two agents at once. They answer without seeing each other's answer, react, and stop."
  repository cellar /dev/null
  rm .cmux-agents.yml
  git add -A
  git commit -q -m "An empty cellar"
  start_model cellar "$here/../room/model.yml"

  ask_room
  run cmux rooms show design
  run cmux rooms check design
  cmux rooms log design --json > "$scratch/talk"
  run cmux rooms close design
  cmux stop >/dev/null

  echo "Act four took $(($(date +%s) - began)) s."

  say "Does it match the story?"
  expect "answers before the others were read" 2 "$(sed '/"kind":"blind","state":"over"/,$d' "$scratch/talk" | grep -c '"kind":"said","by":"[ab]')"
  expect "how the round ended" settled "$(grep '"kind":"round"' "$scratch/talk" | tail -n 1 | grep -o 'settled')"
  expect "changes in the folder" 0 "$(git status --porcelain | wc -l | xargs)"
}
