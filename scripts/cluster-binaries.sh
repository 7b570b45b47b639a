#!/bin/sh
# Builds etcd, kube-apiserver, kubectl and kubelet for `make cluster` and its tests:
# `scripts/cluster-binaries.sh [--look] [PROGRAM...]`. Without names it builds all. Prints the folder with the programs,
# which is in a cache outside of the repository (HOLDFAST_CLUSTER_CACHE moves it). With --look the script builds
# nothing, and fails if a program is missing. scripts/cluster/go.mod decides the versions. The build needs Go and its
# module proxy; Go's checksum database verifies the modules. The build needs about six minutes of CPU time.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
sources=$root/scripts/cluster
cache=${HOLDFAST_CLUSTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast-cluster}
version=$(sed -n 's/^\tk8s.io\/kubernetes v//p' "$sources/go.mod")
folder=$cache/$(sha256sum <"$sources/go.mod" | cut -c1-12)

say() { printf 'cluster-binaries: %s\n' "$*" >&2; }
fail() { say "$*"; exit 69; }

# Each line: the Go package, and the name of its program.
programs='go.etcd.io/etcd/server/v3 etcd
k8s.io/kubernetes/cmd/kube-apiserver kube-apiserver
k8s.io/kubernetes/cmd/kubectl kubectl
k8s.io/kubernetes/cmd/kubelet kubelet'

look=
[ "${1-}" != --look ] || { look=yes; shift; }
wanted=${*:-$(printf '%s\n' "$programs" | cut -d' ' -f2)}
for name in $wanted; do
  printf '%s\n' "$programs" | grep -q " $name$" || fail "unknown program \"$name\": $(printf '%s\n' "$programs" | cut -d' ' -f2 | tr '\n' ' ')"
done
missing=$(printf '%s\n' "$programs" | while read -r package name; do
  case " $(echo $wanted) " in *" $name "*) ;; *) continue ;; esac
  [ -x "$folder/$name" ] || printf '%s %s\n' "$package" "$name"
done)
if [ -n "$missing" ]; then
  [ -z "$look" ] || fail "$folder lacks $(printf '%s\n' "$missing" | wc -l) programs: run scripts/cluster-binaries.sh"
  PATH=$PATH:/usr/local/go/bin
  command -v go >/dev/null 2>&1 || fail 'cannot build Kubernetes: there is no Go here'
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  cp "$sources/go.mod" "$work/"
  mkdir -p "$folder"
  export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS="-mod=mod -buildvcs=false -p=2"
  base=k8s.io/component-base/version
  flags="-s -w -X $base.gitVersion=v$version -X $base.gitMajor=${version%%.*} -X $base.gitMinor=$(echo "$version" | cut -d. -f2)"
  # One program at a time: a machine with little memory can build, and a build that was interrupted continues where it was.
  printf '%s\n' "$missing" | while read -r package name; do
    say "building $name"
    (cd "$work" && nice -n 10 go build -trimpath -ldflags "$flags" -o "$folder/.$name" "$package") >"$work/log" 2>&1 || {
      grep -v '^go: downloading' "$work/log" | tail -n 10 >&2
      fail "cannot build $name"
    }
    mv "$folder/.$name" "$folder/$name"
  done
fi
printf '%s\n' "$folder"
