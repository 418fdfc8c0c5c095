# The dashboard of act one, for `make demo-web`. Sourced by run.sh.

dashboard() {
  say "The dashboard of it. The link works once, within a minute; Enter or Ctrl+C removes all."
  run cmux agents open --print --idle 24h
  server=$(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' .cmux/server.json)
  read -r _ || true
  echo "$scratch is removed now."
}
