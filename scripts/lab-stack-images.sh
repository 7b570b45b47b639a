#!/bin/sh
# Builds the image of the profile stack of docker-compose.yml: `scripts/lab-stack-images.sh`. It is made of holdfast's image and of CoreDNS,
# which Debian does not have. An image of CoreDNS that is here stays, or a registry gives it. If no registry answers, scripts/coredns.sh
# builds CoreDNS from its Go module outside of the repository, and a stand-in gets the official name; the script reports that.
# Exit status: 69 if an image cannot be made.
set -eu

say() { printf 'lab-stack-images: %s\n' "$*" >&2; }
fail() { say "$*"; exit 69; }

root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/deploy/compose/stack
coredns=$(sed -n 's/^ARG COREDNS_IMAGE=//p' "$folder/Dockerfile")
holdfast=${HOLDFAST_IMAGE:-holdfast:lab}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

is_there() { docker image inspect "$1" >/dev/null 2>&1; }

if ! is_there "$coredns" && ! timeout 300 docker pull --quiet "$coredns" >/dev/null 2>"$work/pull"; then
  say "no registry gives $coredns ($(tail -n 1 "$work/pull" | cut -c 1-160))"
  program=$("$root/scripts/coredns.sh") || fail 'cannot build CoreDNS'
  say "making a stand-in under that name from CoreDNS' Go module; it is NOT the official image"
  cp "$program" "$work/coredns"
  printf 'FROM scratch\nCOPY coredns /coredns\nLABEL holdfast.stand-in="CoreDNS built by scripts/coredns.sh"\n' >"$work/Dockerfile"
  docker build --quiet --tag "$coredns" "$work" >/dev/null || fail "cannot make $coredns"
fi

if [ -z "${HOLDFAST_IMAGE:-}" ]; then
  "$root/scripts/base-images.sh" || fail 'cannot make the base images'
  docker build --quiet --target runtime --tag "$holdfast" "$root" >/dev/null || fail "cannot build $holdfast"
fi
docker build --quiet --build-arg "HOLDFAST_IMAGE=$holdfast" --tag "${STACK_IMAGE:-holdfast-lab-stack}" "$folder" >/dev/null ||
  fail 'cannot build the image of the nodes'
