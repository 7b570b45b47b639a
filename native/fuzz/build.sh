#!/bin/sh
# Fuzzes the readers of the native parts: native/fuzz/build.sh SECONDS [TARGET]..., each for so long. libFuzzer with
# AddressSanitizer and UndefinedBehaviorSanitizer (clang; scripts/setup.sh fuzz brings it). Corpora and what crashes are under
# build/fuzz-native and stay for the next run; what was understood is kept in native/fuzz/inputs/TARGET and comes first.
# Nothing here is shipped, and the binaries in native/prebuilds are made by native/build.sh alone.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- guardian addon who-has
nodedir=$(node -p 'require("node:path").resolve(process.execPath, "../..")')
out=$root/build/fuzz-native
mkdir -p "$out"

cc="${CC:-clang} -std=gnu11 -g -O1 -Wall -Wextra -Wno-unused-function -fno-omit-frame-pointer -fno-strict-overflow"
cc="$cc -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined"
status=0
for target in "$@"; do
  # -fno-strict-overflow as in native/build.sh: what wraps there is no finding here.
  # shellcheck disable=SC2086
  $cc -c -isystem "$nodedir/include/node" -o "$out/$target.o" "$here/$target.c"
  # The addon's calls of Node and libuv: nobody makes one here, but for the one that registers it.
  nm -u "$out/$target.o" | awk '$2 ~ /^(napi|node_api|uv)_/ { print "int " $2 "(void); int " $2 "(void) { return 1; }" }' \
    >"$out/$target-node.c"
  # shellcheck disable=SC2086
  $cc -o "$out/$target" "$out/$target.o" "$out/$target-node.c"
  mkdir -p "$out/corpus-$target"
  known=
  [ ! -d "$here/inputs/$target" ] || known=$here/inputs/$target
  echo "$target: $seconds s"
  "$out/$target" -max_total_time="$seconds" -timeout=10 -max_len=4096 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$out/$target-" "$out/corpus-$target" ${known:+"$known"} >"$out/$target.log" 2>&1 ||
    { status=1; grep -v '^#' "$out/$target.log" | head -n 60; }
  grep -E 'number_of_executed_units|average_exec|new_units|peak_rss' "$out/$target.log" || true
done
exit $status
