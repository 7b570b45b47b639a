#!/bin/sh
# Fuzzes the readers of the native parts: native/fuzz/build.sh SECONDS [TARGET]..., so many seconds for each target. libFuzzer
# with AddressSanitizer and UndefinedBehaviorSanitizer (clang; scripts/setup.sh fuzz installs it). build/fuzz-native keeps the
# corpora and the inputs that crashed for the next run; native/fuzz/inputs/TARGET has inputs of fixed bugs, which run first.
# Nothing here is shipped. Only native/build.sh makes the binaries in native/prebuilds.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- guardian addon who-has
out=$root/build/fuzz-native
mkdir -p "$out"

# -fno-strict-overflow as in native/build.sh: what wraps there is no finding here.
cc="${CC:-clang} -std=gnu11 -g -O1 -Wall -Wextra -fno-omit-frame-pointer -fno-strict-overflow"
cc="$cc -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined"

# Prints what a target is built of, beside its harness.
parts_of() {
  case $1 in
    # The harness has a main of its own, and replaces poll(), ppoll() and socket(): nothing waits, and nothing is opened.
    guardian) echo '-Dpoll=fuzz_poll -Dppoll=fuzz_ppoll -Dsocket=fuzz_socket -pthread'; ls "$root"/native/guardian/*.c "$root"/native/guardian/clock/*.c | grep -v '/main\.c$' ;;
    addon) echo "$root/native/addon/metadata.c" ;;
    who-has) echo "$root/native/common/who-has.c" ;;
    *) echo "native/fuzz/build.sh: no target \"$1\": guardian, addon or who-has" >&2; exit 64 ;;
  esac
}

status=0
for target in "$@"; do
  parts=$(parts_of "$target")
  # shellcheck disable=SC2086
  $cc -o "$out/$target" "$here/$target.c" $parts
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
