#!/bin/sh
# Makes the images of `make cluster` without a container engine: `scripts/cluster/image.sh CACHE FOLDER`. FOLDER gets
# pause.tar and holdfast.tar, as `ctr images import` reads them. holdfast.tar has the content of the Dockerfile (bundle, native
# programs, the pinned Node.js), curl for OpenShift's checks, and Debian's base, which stays in CACHE. The only difference is
# that the guardian has no file capabilities: a pod runs as root.
set -eu

cache=$1
folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
fail() { printf 'cluster image: %s\n' "$*" >&2; exit 69; }
sum() { sha256sum "$1" | cut -d' ' -f1; }

# image FILE NAME CONFIG LAYER...: writes an archive with the layers, which are tar files.
image() {
  file=$1 name=$2 config=$3
  shift 3
  mkdir "$work/image"
  layers='' ids=''
  for layer in "$@"; do
    id=$(sum "$layer")
    ln -f "$layer" "$work/image/$id.tar" 2>/dev/null || cp "$layer" "$work/image/$id.tar"
    layers="$layers${layers:+,}\"$id.tar\"" ids="$ids${ids:+,}\"sha256:$id\""
  done
  printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":[%s]}}' \
    "$(dpkg --print-architecture)" "$config" "$ids" >"$work/image/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":[%s]}]' "$name" "$layers" >"$work/image/manifest.json"
  tar -C "$work/image" -cf "$file" .
  rm -r "$work/image"
}

# Base of Debian with curl: as scripts/base-images.sh makes it, but for the cache.
base=$cache/debian-curl.tar
if [ ! -e "$base" ]; then
  command -v mmdebstrap >/dev/null 2>&1 || fail 'there is no mmdebstrap here: run scripts/setup.sh cluster'
  sources=$(grep -lE "/debian(-security)?/?( |$)" /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
    /etc/apt/sources.list.d/*.sources 2>/dev/null | xargs -r grep -lw bookworm || true)
  [ -n "$sources" ] || fail 'cannot make the base: apt here has no sources of bookworm'
  # shellcheck disable=SC2086  # a list of files
  mmdebstrap --quiet --variant=minbase --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include=usr-is-merged,usrmerge-,curl --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$work/base.tar" $sources >"$work/log" 2>&1 ||
    { tail -n 10 "$work/log" >&2; fail 'mmdebstrap failed'; }
  mv "$work/base.tar" "$base.$$" && mv "$base.$$" "$base"
fi
runtime=$cache/node-$("$root/scripts/pinned-node.sh" --version)
[ -x "$runtime/node" ] || "$root/scripts/pinned-node.sh" "$runtime"

# The first process of each pod, and the root of programs that are mounted. kubelet ends it with SIGKILL.
image "$folder/pause.tar" localhost/pause:1 '{"Entrypoint":["/bin/sleep","infinity"]}' "$base"

shipped=$work/holdfast/opt/holdfast
mkdir -p "$shipped/dist" "$shipped/native" "$shipped/node_modules" "$shipped/runtime" "$work/holdfast/usr/local/bin" \
  "$work/holdfast/usr/sbin" "$work/holdfast/etc/holdfast"
cp -R "$root/bin" "$root/package.json" "$root/LICENSE" "$shipped/"
node "$root/scripts/shipped-manifest.mjs" "$shipped"
cp -R "$root/dist/bundle" "$shipped/dist/"
cp -R "$root/native/prebuilds" "$shipped/native/"
cp -R "$root/node_modules/node-gyp-build" "$shipped/node_modules/"
cp "$runtime/node" "$shipped/runtime/"
rm -rf "$shipped"/dist/bundle/v[0-9]*
"$shipped/runtime/node" "$shipped/dist/bundle/warm-up.js"
for name in holdfast holdfast-healthcheck; do ln -s "/opt/holdfast/bin/$name" "$work/holdfast/usr/local/bin/$name"; done
for name in dynkeepalived runtimecfg monitor; do ln -s /opt/holdfast/bin/holdfast "$work/holdfast/usr/local/bin/$name"; done
ln -s /opt/holdfast/bin/holdfast "$work/holdfast/usr/sbin/keepalived"
tar -C "$work/holdfast" --owner=0 --group=0 -cf "$work/holdfast.tar" .
image "$folder/holdfast.tar" localhost/holdfast:cluster \
  '{"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],"User":"990:990","Entrypoint":["/usr/local/bin/holdfast"],"Cmd":["run"]}' \
  "$base" "$work/holdfast.tar"
