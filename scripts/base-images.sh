#!/bin/sh
# Provides the base images that the Dockerfile names: `scripts/base-images.sh`. An existing image stays, and an image of
# a registry is pulled. If no registry answers, the script makes a stand-in with the official name from packages of
# Debian and npm, and reports that. The label `holdfast.stand-in` distinguishes it from the official one:
#   docker image inspect --format '{{index .Config.Labels "holdfast.stand-in"}}' debian:bookworm-slim
# This script decides the content of a stand-in: what the Dockerfile needs (no headers of Node, no yarn). Debian's
# mirror is that of this machine's apt. The certificates are this machine's, so that `npm install` in a build trusts the
# same registries as npm here.
set -eu

say() { printf 'base-images: %s\n' "$*" >&2; }
fail() { say "$*"; exit 69; }

root=$(cd "$(dirname "$0")/.." && pwd)
# Prints the name of the image in the line `ARG NAME=image` of the Dockerfile.
image_of() { sed -n "s/^ARG $1=//p" "$root/Dockerfile" | head -n 1; }
debian=$(image_of BASE_IMAGE)
node=$(image_of NODE_IMAGE)
[ -n "$debian" ] && [ -n "$node" ] || fail 'the Dockerfile names no BASE_IMAGE or NODE_IMAGE'

is_there() { docker image inspect "$1" >/dev/null 2>&1; }
have() {
  is_there "$1" && return 0
  timeout 300 docker pull --quiet "$1" >/dev/null 2>"$work/pull" && return 0
  say "no registry gives $1 ($(tail -n 1 "$work/pull" | cut -c 1-160))"
  say "making a stand-in under that name; it is NOT the official image"
  return 1
}

# Makes an image from this machine's own sources of Debian packages. Packages of third parties do not belong in a base
# image.
make_debian() {
  release=$(printf '%s' "$debian" | sed -n 's/^debian:\([a-z]*\)-slim$/\1/p')
  [ -n "$release" ] || fail "cannot make a stand-in for $debian: expected debian:RELEASE-slim"
  command -v mmdebstrap >/dev/null 2>&1 || fail 'there is no mmdebstrap here: run scripts/setup.sh container'
  sources=$(grep -lE "/debian(-security)?/?( |$)" /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
    /etc/apt/sources.list.d/*.sources 2>/dev/null | xargs -r grep -lw "$release" || true)
  [ -n "$sources" ] || fail "cannot make a stand-in for $debian: apt here has no sources of $release"
  # Files that the official slim image leaves out as well; licences stay.
  # shellcheck disable=SC2086  # a list of files
  # Without the hook and the dependency Debian 12 takes usrmerge and, with it, all of perl.
  mmdebstrap --quiet --variant=minbase \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include=usr-is-merged,usrmerge- \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/lintian/*' \
    "$release" "$work/debian.tar" $sources >"$work/log" 2>&1 || { tail -n 10 "$work/log" >&2; fail 'mmdebstrap failed'; }
  docker import --change 'CMD ["bash"]' \
    --change "LABEL holdfast.stand-in=\"for $debian, made of Debian's packages by scripts/base-images.sh\"" \
    "$work/debian.tar" "$debian" >/dev/null || fail 'docker import failed'
}

make_node() {
  "$root/scripts/pinned-node.sh" "$work/node/node" || fail "cannot make a stand-in for $node"
  mkdir -p "$work/node/npm"
  file=$(cd "$work" && npm pack --silent npm@11 2>"$work/log" | tail -n 1) ||
    { tail -n 10 "$work/log" >&2; fail 'npm does not give npm@11'; }
  tar -C "$work/node/npm" --strip-components=1 -xzf "$work/$file"
  cp /etc/ssl/certs/ca-certificates.crt "$work/node/ca.crt" 2>/dev/null || : >"$work/node/ca.crt"
  cat >"$work/node/Dockerfile" <<DOCKERFILE
FROM $debian
COPY node/node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY ca.crt /etc/ssl/certs/ca-certificates.crt
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && chmod 755 /usr/local/lib/node_modules/npm/bin/npm-cli.js \\
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx && chmod 755 /usr/local/lib/node_modules/npm/bin/npx-cli.js \\
 && groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node
CMD ["node"]
LABEL holdfast.stand-in="for $node, made of npm's packages by scripts/base-images.sh"
DOCKERFILE
  DOCKER_BUILDKIT=0 docker build --quiet --tag "$node" "$work/node" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; fail "cannot build $node"; }
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
docker version >/dev/null 2>&1 || fail 'no engine answers: run scripts/docker-engine.sh'

have "$debian" || make_debian
have "$node" || make_node
