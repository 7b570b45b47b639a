#!/bin/sh
# Runs a guardian with an engine that does random things (native/fuzz/engine.c) in a network namespace of its own, one
# after the other for so many seconds: native/fuzz/threads.sh SECONDS GUARDIAN ENGINE. Exit status 1: a sanitizer has
# reported something, or the guardian ended in another way than its engine. Needs root.
set -eu

if [ "${HOLDFAST_THREADS_NAMESPACE:-}" != own ]; then
  exec env HOLDFAST_THREADS_NAMESPACE=own unshare --net -- "$0" "$@"
fi
seconds=$1 guardian=$2 engine=$3
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ip link set lo up multicast on
now=$(cut -d. -f1 /proc/uptime)
end=$((now + seconds)) runs=0 restarts=0 bad=0
while [ "$now" -lt "$end" ]; do
  runs=$((runs + 1)) status=0
  # A run has at most two engines, because a second crash within a minute is not followed by a restart.
  life=$((now + 6)) && [ "$life" -le "$end" ] || life=$end
  # A plan that was forgotten at the end of the process is no leak that matters.
  TSAN_OPTIONS='die_after_fork=0 exitcode=66' ASAN_OPTIONS='detect_leaks=0 exitcode=66' "$guardian" "$engine" "$life" "$runs" 300 2>"$log" ||
    status=$?
  restarts=$((restarts + $(grep -c '^engine: started again' "$log" || true)))
  # 0: the engine has ended in time; 137: it has died by SIGKILL.
  case $status in 0 | 137) ;; *) bad=1 ;; esac
  if grep -Eq 'ThreadSanitizer|AddressSanitizer|runtime error' "$log"; then bad=1; fi
  if [ "$bad" = 1 ]; then
    echo "threads: run $runs ended with $status"
    grep -v '^{' "$log" | head -n 60
    break
  fi
  now=$(cut -d. -f1 /proc/uptime)
done
echo "threads: $runs guardians, $restarts restarts"
exit "$bad"
