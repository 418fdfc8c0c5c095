#!/usr/bin/env bash
# fuzz.sh TIME [PATTERN]: fuzzes each target of the repository for TIME, such as
# 30s or 1h, one after the other. PATTERN, an extended regular expression,
# chooses among them by PACKAGE/TARGET. An input that breaks a target is kept
# under testdata/fuzz of its package, where every later test run tries it; the
# exit code is 1 then, after the other targets have had their turn.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?how long each, such as 30s} pattern=${2:-}
targets=$(grep -rEo --include='*_test.go' --exclude-dir=node_modules '^func Fuzz[A-Za-z0-9_]+' . |
  sed -E 's|^\./(.*)/[^/]+_test\.go:func (Fuzz.*)$|\1/\2|' | sort | grep -E -- "$pattern") ||
  { echo "no fuzz target matches $pattern" >&2; exit 2; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
set -m # each test in a process group of its own, which ends as a whole
trap 'kill -- -$! 2>/dev/null; wait; exit 130' INT TERM
said() { { grep elapsed: "$out" || echo "not built on this system"; } | tail -n 1; }
broke=()
for target in $targets; do
  echo "== $target"
  if "${GO:-go}" test -run '^$' -fuzz "^${target##*/}\$" -fuzztime "$time" "./${target%/*}" >"$out" 2>&1 & wait $!; then
    said
  elif grep -qx ' *context deadline exceeded' "$out" && ! grep -qE 'Failing input written|seed corpus entry' "$out"; then
    said # its time was over, and no more (golang/go#75804)
  else
    cat "$out"
    broke+=("$target")
  fi
done
echo "$(wc -w <<<"$targets") targets, $time each"
[ ${#broke[@]} -eq 0 ] || { printf 'broke: %s\n' "${broke[@]}"; exit 1; }
