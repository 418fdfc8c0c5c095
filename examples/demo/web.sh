# What `make demo-web` shows: the run of act one, whose gate waits for the person, and
# the organization of act three with a room, where Claude Code is there. Sourced by run.sh.

story= # of the models; empty: that of act three alone

dashboard() {
  shop
  run cmux agents start --yes --detach
  until_shown 'approval +gate .*needs input' cmux agents status
  until_shown 'e2e .*failed' cmux agents status
  run cmux agents status
  cmux agents open --print --idle 24h >/dev/null
  server=$(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' .cmux/server.json)
  local home=$HOME # the model's has another key

  find_claude
  if [ -n "$claude" ]; then
    story=$scratch/model.yml
    { cat "$here/../organization/model.yml" && sed '1,/^scripts:/d' "$here/../room/model.yml"; } > "$story"
    market
    say "And a room in it, in which you ask two agents at once:"
    ask_room
  else
    say "Without Claude Code there is no organization to show: $missing."
  fi

  say "The dashboards. A link works once, within a minute; cmux open prints another."
  cd "$scratch/shop"
  echo "The run, whose gate waits for you:"
  HOME=$home run cmux agents open --print
  if [ -n "$claude" ]; then
    cd "$scratch/market"
    echo "The organization, which has opened a shop, and its room:"
    run cmux open --print
  fi
  echo "Enter or Ctrl+C ends and removes all."
  read -r _ || true
}
