#!/usr/bin/env bash
# dist.sh [FOLDER]: builds what people install into FOLDER (dist): static
# binaries with man pages and completions for Linux and macOS, packages for
# Debian, checksums, and CONTENTS, which says what is in it. Two builds of one
# commit are equal, byte for byte: make dist-check proves it. It needs GNU tar.
#
# TARGETS names others than "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64".
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-dist}
version=${VERSION:-$(git describe --tags --always --dirty)}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0 LC_ALL=C TZ=UTC
umask 022
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
rm -rf "$out"
mkdir -p "$out"

make --no-print-directory dashboard
build() { # build OS ARCH FILE
  GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=true -ldflags "-s -w -X main.version=$version" -o "$3" ./cmd/cmux
}
host=$stage/host
GOOS="" GOARCH="" build "" "" "$host/cmux"
share=$host/share
mkdir -p "$share"/{man/man1,bash-completion/completions,fish/vendor_completions.d,zsh/site-functions,doc/cmux}
"$host/cmux" man "$share/man/man1"
"$host/cmux" completion bash >"$share/bash-completion/completions/cmux"
"$host/cmux" completion fish >"$share/fish/vendor_completions.d/cmux.fish"
"$host/cmux" completion zsh >"$share/zsh/site-functions/_cmux"
cp LICENSE README.md "$share/doc/cmux/"

# A version of a Debian package begins with a digit.
deb=${version#v}
case $deb in [0-9]*.*) ;; *) deb=0.0.0+git$SOURCE_DATE_EPOCH.$deb ;; esac
package() { # package ARCH TREE
  cat >"$stage/nfpm.yml" <<-YML
	name: cmux
	arch: $1
	platform: linux
	version: $deb
	version_schema: none
	maintainer: cmux <cmux@localhost>
	description: |
	  Run graphs of coding agents
	  Each agent works in a git worktree and a tmux pane of its own.
	section: devel
	priority: optional
	mtime: $(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
	depends: [git (>= 1:2.38)]
	recommends: [tmux (>= 3.2)]
	contents:
	  - {src: $2/bin, dst: /usr/bin, type: tree}
	  - {src: $2/share, dst: /usr/share, type: tree}
	YML
  GOOS="" GOARCH="" go tool -modfile=.ci/dist.mod nfpm package -f "$stage/nfpm.yml" -p deb -t "$out/cmux_${version}_$1.deb" >/dev/null
}

for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
  os=${target%/*} arch=${target#*/}
  name=cmux-$version-$os-$arch
  mkdir -p "$stage/$name"
  build "$os" "$arch" "$stage/$name/bin/cmux"
  cp -R "$share" "$stage/$name/share"
  find "$stage/$name" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -C "$stage" -cf - "$name" |
    gzip -n9 >"$out/$name.tar.gz"
  [ "$os" != linux ] || package "$arch" "$stage/$name"
done
install -m 755 scripts/install.sh "$out/install.sh"

{
  echo "cmux $version, commit $(git rev-parse HEAD), $(go env GOVERSION)"
  for file in "$out"/*.tar.gz; do
    printf '\n%s\n' "$(basename "$file")"
    tar --numeric-owner -tvzf "$file" | sed 's/^/  /'
  done
  for file in "$out"/*.deb; do
    [ -e "$file" ] || continue
    printf '\n%s: the files of the archive for the same machine, below /usr\n' "$(basename "$file")"
  done
  printf '\nmodules in the binaries\n'
  go version -m "$host/cmux" | awk '$1 == "dep" { print "  " $2, $3, $4 }'
} >"$out/CONTENTS"
(cd "$out" && sha256sum -- * >"$stage/sums" && mv "$stage/sums" SHA256SUMS)
echo "$out:"
ls -l "$out"
