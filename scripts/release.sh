#!/bin/sh
# Makes build/release, which can be installed without a checkout, without a compiler, and without a network.
#   holdfast-VERSION.tgz                 npm package: npm install --global --ignore-scripts holdfast-VERSION.tgz
#   holdfast-VERSION-linux-ARCH.tar.gz   the same with Node and what it needs of node_modules; install.sh for systemd
#   holdfast-VERSION.cdx.json            what is in them (CycloneDX; also inside both)
#   SHA256SUMS
# This script decides the content. It never ships binaries that were made from other sources. The Node in the tarball is
# that of scripts/pinned-node.sh, whichever Node runs this script. Needs dist/ to be built (make release).
set -eu

fail() { echo "release: $1" >&2; exit 1; }

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
out=$root/build/release
version=$(node -p 'require("./package.json").version')
arch=$(node -p process.arch)
name=holdfast-$version
# The files have the time of the commit, not of the build, so that two tarballs of one commit are equal.
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH="$epoch"

native/build.sh --check >/dev/null || fail 'native/prebuilds does not belong to these sources'
[ -f dist/bundle/main.js ] || fail 'dist/bundle is missing: make build'
[ -f CHANGELOG.md ] || fail 'CHANGELOG.md is missing'

rm -rf "$out"
mkdir -p "$out/stage"
trap 'rm -rf "$out/stage"' EXIT
scripts/pinned-node.sh "$out/stage/runtime" "$arch"
# Lists the shared libraries of Node.js that a system with glibc may lack. They would have to be shipped too.
foreign=$(ldd "$out/stage/runtime/node" | awk '{ print $1 }' | grep -vE '^(linux-vdso|libdl|libstdc\+\+|libm|libgcc_s|libpthread|libc|/lib64/ld-linux-x86-64|/lib/ld-linux-aarch64)\.so' || true)
[ -z "$foreign" ] || fail "cannot ship Node.js $(scripts/pinned-node.sh --version): it needs $(echo $foreign)"

# `--omit=dev` is not used: npm would also omit packages that a development tool needs too, such as yaml.
npm sbom --sbom-format=cyclonedx --sbom-type=application --package-lock-only 2>/dev/null |
  node scripts/bill-of-materials.mjs dist || fail 'cannot write the bill of materials'
npm pack --silent --ignore-scripts --pack-destination "$out" >/dev/null || fail 'npm pack failed'
cp dist/sbom.cdx.json "$out/$name.cdx.json"

tar -C "$out/stage" -xzf "$out/$name.tgz"
# The bundle contains all npm packages except this one, which looks for its addon on the disk.
mkdir -p "$out/stage/package/node_modules"
cp -R node_modules/node-gyp-build "$out/stage/package/node_modules/"
# `--tags` is not used: the name of a tag would hide the hash of the commit.
node scripts/shipped-manifest.mjs "$out/stage/package" "$(git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || true)"
(cd "$out/stage/package" && npm pack --silent --ignore-scripts --pack-destination "$out" >/dev/null) || fail 'npm pack failed'
rm -rf "$out/stage/package"
tar -C "$out/stage" -xzf "$out/$name.tgz"
tree=$name-linux-$arch
mv "$out/stage/package" "$out/stage/$tree"
mv "$out/stage/runtime" "$out/stage/$tree/runtime"
install -m 755 deploy/systemd/install.sh "$out/stage/$tree/install.sh"
tar -C "$out/stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf - "$tree" |
  gzip -9n >"$out/$tree.tar.gz"

cd "$out"
sha256sum "$name.tgz" "$tree.tar.gz" "$name.cdx.json" >SHA256SUMS
for file in "$name.tgz" "$tree.tar.gz" "$name.cdx.json" SHA256SUMS; do
  printf '%s  %s\n' "$(du -h "$file" | cut -f1)" "build/release/$file"
done
