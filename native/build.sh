#!/bin/sh
# Builds everything under native/prebuilds from source; no other way makes those binaries. Each folder of native/ is one
# binary: native/addon is the addon, every other folder but common/ a program; native/health.c is a program of one file.
# This script decides compiler, flags, file names, and SOURCES.sha256 (the hashes of the sources and of the binaries
# made of them). Needs gcc, binutils, the headers of Node (they come with Node's tarball) and, for small static
# programs, musl-gcc (Debian: musl-tools). Running holdfast needs none of these.
set -eu
# The order of the sources, and so of the list, depends on no locale.
export LC_ALL=C

usage() {
  cat <<'USAGE'
usage: native/build.sh [--check] [--nodedir DIR]
  --check        tells whether the committed binaries belong to these sources (exit 0 or 1); builds nothing
  --nodedir DIR  where include/node/node_api.h is (default: beside the node in PATH, then npm's nodedir)
USAGE
}

here=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
cd "$here"
sources='common/*.[ch] addon/*.[ch] guardian/*.[ch] guardian/clock/*.[ch] guardian/confine/*.[ch] launcher/*.[ch] probe/*.[ch] health.c build.sh'
check=no
nodedir=''
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=yes ;;
    --nodedir) [ $# -gt 1 ] || { usage >&2; exit 64; }; nodedir=$2; shift ;;
    --nodedir=*) nodedir=${1#--nodedir=} ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 64 ;;
  esac
  shift
done

# A source that was added or removed since the build changes the list.
listed() { sed -n 's/^[0-9a-f]*  //; /^prebuilds/!p' prebuilds/SOURCES.sha256; }

if [ "$check" = yes ]; then
  # shellcheck disable=SC2086
  if sha256sum --check --quiet --strict prebuilds/SOURCES.sha256 && [ "$(listed)" = "$(printf '%s\n' $sources)" ]; then
    echo 'native/prebuilds: built from these sources'
    exit 0
  fi
  echo 'native/prebuilds is stale: run native/build.sh and commit the result' >&2
  exit 1
fi

case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64) arch=arm64 ;;
  *) echo "native/build.sh: no name for the architecture $(uname -m)" >&2; exit 1 ;;
esac
out=prebuilds/linux-$arch
mkdir -p "$out"

if [ -z "$nodedir" ]; then
  nodedir=$(node -p 'require("node:path").resolve(process.execPath, "../..")')
  [ -f "$nodedir/include/node/node_api.h" ] || nodedir=$(npm config get nodedir)
fi
if [ ! -f "$nodedir/include/node/node_api.h" ]; then
  echo "native/build.sh: no node_api.h in $nodedir/include/node: name the place with --nodedir" >&2
  exit 1
fi

cc=${CC:-gcc}
static_cc=${STATIC_CC:-$(command -v musl-gcc || echo "$cc")}
flags='-std=gnu11 -O2 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -fstack-protector-strong
  -fno-strict-overflow -D_FORTIFY_SOURCE=2'
# The files of one binary are optimised together, as if they were one file.
flags="$flags -flto"
# No build path, no date, no build id: the same compiler gives the same bytes.
flags="$flags -ffile-prefix-map=$here=native -Wl,--build-id=none -Wl,-z,relro,-z,now -Wl,-z,noexecstack"

# The script builds every binary under another name and then moves it to its place, so a guardian that runs now keeps
# its file.
fresh=$(mktemp -d "$out/.build.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
trap 'exit 1' HUP INT TERM

# shellcheck disable=SC2086
$cc $flags -fPIC -shared -fvisibility=hidden -Wno-missing-prototypes -isystem "$nodedir/include/node" \
  -o "$fresh/holdfast.glibc.node" addon/*.c
# musl-gcc leaves out /usr/include: the kernel's headers come last, so that musl's own win.
kernel="-idirafter /usr/include -idirafter /usr/include/$("$cc" -print-multiarch)"
# The addon runs with every glibc since 2.17. The programs are static, because the image may have another libc or none.
static_program() { # static_program NAME SOURCE...
  name=$1
  shift
  # shellcheck disable=SC2086
  $static_cc $flags $kernel -static -o "$fresh/holdfast-$name" "$@"
}
static_program guardian -pthread guardian/*.c guardian/clock/*.c guardian/confine/*.c
static_program launcher launcher/*.c
static_program health health.c
static_program probe probe/*.c common/instrument.c common/who-has.c
strip --strip-unneeded "$fresh/holdfast.glibc.node"
strip "$fresh/holdfast-guardian" "$fresh/holdfast-launcher" "$fresh/holdfast-health" "$fresh/holdfast-probe"
chmod 755 "$fresh"/holdfast*
mv -f "$fresh"/holdfast* "$out"/

# Lists the binaries too, so that a foreign binary is noticed.
# shellcheck disable=SC2086
sha256sum $sources prebuilds/linux-*/holdfast* > prebuilds/SOURCES.sha256
ls -l "$out"
