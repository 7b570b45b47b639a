#!/bin/sh
# All tests but those of containers: `scripts/tests.sh [vitest's arguments]`. Files of the group "waiting" run beside each
# other to save ten minutes (vitest.config.ts). What one of them misses there may be the company's doing, which says nothing
# of the daemon: it is run once more by itself, as most files always are, and what it misses then has failed. Never in
# silence: .ci/run ends with what was seen in company, so that a file which comes up again leaves the group.
set -u
cd "$(dirname "$0")/.."

HOLDFAST_TEST_RUN=${HOLDFAST_TEST_RUN:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}
export HOLDFAST_TEST_RUN
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

HOLDFAST_TEST_COMPANY=$own/missed npx --no-install vitest run --project '!container' "$@"
status=$?
[ "$status" = 1 ] && [ -s "$own/missed" ] || exit "$status"

read -r others <"$own/missed"
status=0
[ "$others" = 0 ] || status=1
tail -n +2 "$own/missed" >"$own/files"
while IFS='	' read -r file seen; do
  printf '== missed beside others, now by itself: %s: %s\n' "$file" "$seen"
  [ -z "${HOLDFAST_TEST_SUMMARY:-}" ] || printf '%s: %s\n' "$file" "$seen" >>"$HOLDFAST_TEST_SUMMARY.company"
  HOLDFAST_TEST_ATTEMPT=2 npx --no-install vitest run --project waiting --reporter=default \
    --reporter=./test/support/summary-reporter.ts --reporter=./test/support/history-reporter.ts "$file" </dev/null || status=1
done <"$own/files"
exit "$status"
