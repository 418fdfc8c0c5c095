#!/usr/bin/env bash
# words.sh prints the lines with forms and spellings that the rules for words
# forbid, and exits 1 if a folder has more of them than its bound.
# With --all it prints every such line.
#
# The bounds are for folders that are not rewritten yet; any other folder must have
# none. Lower a bound when you rewrite lines; never raise one.
set -uo pipefail
cd "$(dirname "$0")/.."

bounds='
agents/control 2
'

forms='of which (nothing|none|no )|(is|are|was) (said|told|heard) of|(go|goes|gone|went) on with|what (came|comes|comes out|it came|became) (of|to)|\banew\b|(that|it|which) (is|are) (none|nobody)\b|comes? about\b|brings? about|the same again|(terminal|command|clone) of yours|(is|are) to be (done|told|said|given|assigned|tried|read|shown)|but for the'
spellings='organis|behaviour|colour|licence|learnt|whilst|time-out|take-over'
# Data and quotations: a file's name on disk, a question in recorded screens, and
# a field of agents/control.
quoted='organisation\.lock|[Ww]hich(\\n| )colour|"header": *"Colour"|runs\.Diff\{.*Colour:'

files=('*.go' '*.ts' '*.tsx' '*.md')
{
  git grep -nE "$forms" -- "${files[@]}"
  git grep -niE "$spellings" -- "${files[@]}" | grep -vE "$quoted"
  true # no line is a good answer: awk alone decides
} | bounds="$bounds" all="${1:-}" awk '
  BEGIN { all = ENVIRON["all"]; n = split(ENVIRON["bounds"], b, /[ \n]+/); for (i = 1; i < n; i++) if (b[i] != "" && b[i] !~ /^[0-9]+$/) bound[b[i]] = b[i+1] }
  {
    f = $0; sub(/:.*/, "", f)
    # The longest listed folder that holds the file counts it.
    d = f; while (sub(/\/[^\/]*$/, "", d)) if (d in bound) break
    if (!(d in bound)) { d = f; if (!sub(/\/[^\/]*$/, "", d)) d = "." }
    count[d]++; lines[d] = lines[d] $0 "\n"
    if (all == "--all") print
  }
  END {
    for (d in count) if (count[d] > bound[d] + 0) {
      bad = 1
      if (all != "--all") printf "%s", lines[d]
      printf "%s: %d lines with forbidden words, at most %d: write plain words instead\n", d, count[d], bound[d]
    }
    for (d in bound) if (count[d] + 0 < bound[d]) printf "%s: lower its bound in scripts/words.sh from %d to %d\n", d, bound[d], count[d]
    exit bad
  }'
