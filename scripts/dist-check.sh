#!/usr/bin/env bash
# dist-check.sh: builds dist of HEAD twice, in two clones at different paths and
# without a common build cache, and compares them byte for byte.
set -euo pipefail
cd "$(dirname "$0")/.."
both=$(mktemp -d)
trap 'rm -rf "$both"' EXIT
for n in one another/two; do
  git clone -q --no-hardlinks . "$both/$n"
  [ "$n" = one ] || export GOCACHE="$both/cache"
  VERSION=$(git describe --tags --always) "$both/$n/scripts/dist.sh" >/dev/null
done
diff -r "$both/one/dist" "$both/another/two/dist"
(cd "$both/one/dist" && sha256sum --quiet -c SHA256SUMS)
echo "two builds of $(git rev-parse --short HEAD) are equal"
