#!/bin/sh
# Installs, updates and removes cmux from what `make dist` has built.
#
#   install.sh [--from FOLDER-OR-ADDRESS] [--prefix DIR]
#   install.sh --uninstall [--prefix DIR]
#
# FOLDER-OR-ADDRESS holds SHA256SUMS and an archive for this machine; without
# --from it is the folder of this script. DIR is /usr/local for root, else
# ~/.local. What was installed stands in DIR/share/cmux/installed: an update
# removes what the new version has no more, --uninstall all of it. Projects,
# their .cmux folders and your configuration are not touched.
set -eu
umask 022

fail() {
  echo "install.sh: $1" >&2
  [ -z "${2:-}" ] || echo "install.sh: try: $2" >&2
  exit 1
}
usage() { sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" | sed '$d' >&2; exit "$1"; }

from='' prefix='' uninstall=''
while [ $# -gt 0 ]; do
  case $1 in
  --from | --prefix)
    [ $# -gt 1 ] || fail "$1 needs a value" "install.sh --help"
    case $1 in --from) from=$2 ;; *) prefix=$2 ;; esac
    shift
    ;;
  --uninstall) uninstall=yes ;;
  -h | --help) usage 0 ;;
  *) echo "install.sh: there is no option $1" >&2; usage 2 ;;
  esac
  shift
done
if [ -z "$prefix" ]; then
  prefix=/usr/local
  [ "$(id -u)" = 0 ] || prefix=${HOME:?}/.local
fi
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
list=$prefix/share/cmux/installed

# remove FILE: of the list, a path below the prefix.
remove() {
  case $1 in bin/* | share/*) ;; *) return ;; esac
  case $1 in *..*) return ;; esac
  rm -f "$prefix/$1"
}

if [ -n "$uninstall" ]; then
  [ -f "$list" ] || fail "no cmux was installed in $prefix by this script" "the same with --prefix"
  while IFS= read -r file; do remove "$file"; done <"$list"
  rm -f "$list"
  rmdir "$prefix/share/cmux" "$prefix/share/doc/cmux" 2>/dev/null || true
  echo "cmux is removed from $prefix."
  exit 0
fi

[ -n "$from" ] || from=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fetch() { # fetch NAME: into $tmp
  case $from in
  http://* | https://*)
    if command -v curl >/dev/null 2>&1; then
      curl -fsSL -o "$tmp/$1" "${from%/}/$1"
    elif command -v wget >/dev/null 2>&1; then
      wget -q -O "$tmp/$1" "${from%/}/$1"
    else
      fail "neither curl nor wget is installed" "download the folder, then install.sh --from FOLDER"
    fi || fail "${from%/}/$1 cannot be downloaded"
    ;;
  *) cp "$from/$1" "$tmp/$1" 2>/dev/null || fail "$from has no $1" "install.sh --from FOLDER-OR-ADDRESS, as make dist has built it" ;;
  esac
}

sum() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1
}

os=$(uname -s) arch=$(uname -m)
case $os in Linux) os=linux ;; Darwin) os=darwin ;; *) fail "cmux does not run on $os" ;; esac
case $arch in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no cmux for $arch; it is built with make" ;;
esac

fetch SHA256SUMS
archive=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(cmux-[A-Za-z0-9._+-]*-$os-$arch\.tar\.gz\)\$/\1/p" "$tmp/SHA256SUMS" | tail -n 1)
[ -n "$archive" ] || fail "$from has no archive for $os-$arch"
fetch "$archive"
want=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$archive\$/\1/p" "$tmp/SHA256SUMS" | tail -n 1)
[ "$(sum "$tmp/$archive")" = "$want" ] || fail "$archive is not what SHA256SUMS says: nothing was installed" "download it again"

tar -xzf "$tmp/$archive" -C "$tmp"
tree=$tmp/${archive%.tar.gz}
"$tree/bin/cmux" --version >/dev/null || fail "$archive does not run on this machine: nothing was installed"
(cd "$tree" && find bin share -type f | sort) >"$tmp/installed"
mkdir -p "$prefix/share/cmux" || fail "$prefix cannot be written" "sudo install.sh, or --prefix \$HOME/.local"
while IFS= read -r file; do
  mkdir -p "$prefix/${file%/*}"
  # Beside it first: a cmux that runs keeps its file, and no half of one is seen.
  cp "$tree/$file" "$prefix/$file.new.$$"
  mv -f "$prefix/$file.new.$$" "$prefix/$file"
done <"$tmp/installed"
if [ -f "$list" ]; then
  while IFS= read -r file; do
    grep -qxF "$file" "$tmp/installed" || remove "$file"
  done <"$list"
fi
cp "$tmp/installed" "$list"
echo "$("$prefix/bin/cmux" --version) is installed in $prefix."
case :$PATH: in *:"$prefix/bin":*) ;; *) echo "$prefix/bin is not in your PATH." ;; esac
