#!/bin/sh
# Builds CoreDNS for the tests of the DNS part, unless it is in the cache, and prints the path of its program. With
# --look, the script builds nothing, and fails if CoreDNS is not in the cache. Decided here: the version (scripts/coredns/go.mod), and the place in the cache. Needs Go and its module proxy, or a filled
# module cache. Without Go the script fails, and the tests that need CoreDNS are skipped.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
sources=$root/scripts/coredns
sum=$(cat "$sources/go.mod" "$sources/go.sum" "$sources/main.go" | sha256sum | cut -c1-12)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/coredns-$sum
program=$folder/coredns

if [ ! -x "$program" ]; then
  [ "${1-}" != --look ] || exit 1
  PATH=$PATH:/usr/local/go/bin
  command -v go >/dev/null 2>&1 || {
    echo 'coredns: cannot build CoreDNS: there is no Go here' >&2
    exit 1
  }
  mkdir -p "$folder"
  # The build may take minutes. Builds at the same time do not disturb each other, because the last step is a rename.
  (cd "$sources" && GOTOOLCHAIN=local GOFLAGS=-mod=readonly go build -trimpath -o "$program.$$" .) >&2 || {
    rm -f "$program.$$"
    echo 'coredns: cannot build CoreDNS: go build failed' >&2
    exit 1
  }
  mv "$program.$$" "$program"
fi
printf '%s\n' "$program"
