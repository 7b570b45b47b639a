#!/usr/bin/env bash
# Runs every long test that needs neither namespaces nor Docker, one after the other, and continues after a failure. The
# output of each test is in build/prove/NAME.log. At the end the script prints one line for each test, and its exit
# status is 0 only if all have passed. The options are those of the single commands: HISTORIES=, INPUTS=, SECONDS= (for
# each native target), DEPTH=, FAULTS=, WORLDS=, SEED=.
set -uo pipefail
cd "$(dirname "$0")/.."
logs=build/prove
mkdir -p "$logs"
summary=$(mktemp)
trap 'rm -f "$summary"' EXIT
trap 'cat "$summary"; exit 130' INT TERM
TIMEFORMAT='%U %S'
status=0

proof() {
  local name=$1 cpu result
  shift
  printf '== %s: %s (%s)\n' "$name" "$*" "$logs/$name.log"
  cpu=$({ time "$@" >"$logs/$name.log" 2>&1 </dev/null; } 2>&1)
  result=$?
  tail -n 3 "$logs/$name.log"
  printf '%-12s %s, %.0f s of CPU\n' "$name" "$([ "$result" = 0 ] && echo passed || echo "FAILED (exit status $result)")" \
    "$(awk '{ print $1 + $2 }' <<<"$cpu")" >>"$summary"
  [ "$result" = 0 ] || status=1
}

# The table of the protocol extensions uses fewer histories, because it runs each history nine times.
compared=${HISTORIES:-400}
[ "$compared" -le 400 ] || compared=400

proof explore make --no-print-directory explore
proof histories make --no-print-directory prove
proof extensions make --no-print-directory prove ARGS='--extensions --small' HISTORIES="$compared" SEED="${SEED:-101}"
proof fuzz make --no-print-directory fuzz
proof fuzz-native make --no-print-directory fuzz-native

echo
cat "$summary"
exit "$status"
