#!/bin/sh
# Puts the Node.js that holdfast ships, and its licence, into a folder: `scripts/pinned-node.sh FOLDER [ARCH]`. The
# tarball and the image use this Node.js. This script decides the version, and the hash of its npm package
# (docs/adr/0005). Any version of Node.js can run this script.
set -eu

# The pinned version of Node.js is supported until April 2028. The pinned version needs glibc 2.28 and, unlike Node.js
# 26, no libatomic.
version=24.21.0
x64=sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==
arm64=sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==

fail() { echo "pinned-node: $1" >&2; exit 1; }

[ "${1-}" != --version ] || { echo "$version"; exit 0; }
folder=${1:?"usage: scripts/pinned-node.sh FOLDER [x64 | arm64]"}
arch=${2:-$(node -p process.arch)}
case $arch in
  x64) wanted=$x64 ;;
  arm64) wanted=$arm64 ;;
  *) fail "no Node.js $version for linux-$arch: expected x64 or arm64" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
file=$(cd "$work" && npm pack --silent --prefer-offline "node-linux-$arch@$version" 2>"$work/log" | tail -n 1) ||
  { tail -n 10 "$work/log" >&2; fail "npm does not give node-linux-$arch@$version"; }
found=$(node -e 'const hash = require("node:crypto").createHash("sha512"); console.log("sha512-" + hash.update(require("node:fs").readFileSync(process.argv[1])).digest("base64"))' "$work/$file")
[ "$found" = "$wanted" ] || fail "node-linux-$arch@$version has the hash $found, not $wanted"
tar -C "$work" -xzf "$work/$file" package/bin/node package/LICENSE
mkdir -p "$folder"
install -m 755 "$work/package/bin/node" "$folder/node"
install -m 644 "$work/package/LICENSE" "$folder/LICENSE"
