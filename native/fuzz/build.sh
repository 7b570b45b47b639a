#!/bin/sh
# Fuzzes the readers of the native parts: native/fuzz/build.sh SECONDS [TARGET]..., so many seconds for each target.
# libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer (clang; scripts/setup.sh fuzz installs it). The target
# threads is the whole guardian with ThreadSanitizer, in a network namespace (root), and then with the other two.
# build/fuzz-native keeps the corpora and the inputs that crashed for the next run; native/fuzz/inputs/TARGET has inputs
# of fixed bugs, which run first. The programs of native/fuzz are not shipped. Only native/build.sh makes the binaries
# in native/prebuilds.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- guardian addon receive who-has threads
out=$root/build/fuzz-native
mkdir -p "$out"

# -fno-strict-overflow as in native/build.sh: what wraps there is no finding here.
plain="${CC:-clang} -std=gnu11 -g -O1 -Wall -Wextra -fno-omit-frame-pointer -fno-strict-overflow"
cc="$plain -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined"

# Finds Node's headers as native/build.sh does.
node_headers() {
  node_dir=$(node -p 'require("node:path").resolve(process.execPath, "../..")')
  [ -f "$node_dir/include/node/node_api.h" ] || node_dir=$(npm config get nodedir)
  echo "$node_dir/include/node"
}

# Prints what a target is built of, beside its harness.
parts_of() {
  case $1 in
    # The harness has a main of its own, and replaces poll(), ppoll() and socket(): nothing waits, and nothing is opened.
    guardian)
      echo '-Dpoll=fuzz_poll -Dppoll=fuzz_ppoll -Dsocket=fuzz_socket -Dsetsockopt=fuzz_setsockopt -Dkill=fuzz_kill -Dsocketpair=fuzz_socketpair'
      # The harness includes two of the files, and has a starter of its own.
      echo -pthread
      ls "$root"/native/guardian/*.c "$root"/native/guardian/clock/*.c "$root"/native/guardian/confine/*.c | grep -Ev '/(main|restart|membership|starter)\.c$' ;;
    # recvmmsg() reads a queue of the harness, and the clocks, the timer and the news socket are the harness's. Node's headers are needed, not Node.
    receive)
      echo "-Drecvmmsg=fuzz_recvmmsg -Dclock_gettime=fuzz_clock_gettime -Dtimerfd_settime=fuzz_timerfd_settime -Dsetsockopt=fuzz_setsockopt -Dgetsockopt=fuzz_getsockopt -Drecv=fuzz_recv -isystem $(node_headers) -lm"
      ls "$here"/receive-queue.c "$here"/receive-time.c "$root"/native/addon/receive.c "$root"/native/addon/repetition.c "$root"/native/addon/defer.c "$root"/native/addon/news-filter.c "$root"/native/addon/metadata.c ;;
    addon) echo "$root/native/addon/metadata.c" ;;
    who-has) echo "$root/native/common/who-has.c" ;;
    *) echo "native/fuzz/build.sh: no target \"$1\": guardian, addon, receive, who-has or threads" >&2; exit 64 ;;
  esac
}

# Builds the guardian with SANITIZERS, and runs it with an engine that does random things.
run_threads() { # run_threads SECONDS SANITIZERS
  echo "threads ($2): $1 s"
  # shellcheck disable=SC2086
  $plain -o "$out/engine" "$here/engine.c" &&
    $plain -DUNCONFINED -fsanitize="$2" -fno-sanitize-recover=all -pthread -o "$out/guardian-threads" "$root"/native/guardian/*.c "$root"/native/guardian/clock/*.c "$root"/native/guardian/confine/*.c &&
    "$here/threads.sh" "$1" "$out/guardian-threads" "$out/engine"
}

status=0
for target in "$@"; do
  if [ "$target" = threads ]; then
    run_threads "$seconds" thread || status=1
    run_threads "$(((seconds + 3) / 4))" address,undefined || status=1
    continue
  fi
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
