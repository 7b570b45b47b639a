#!/bin/sh
# Runs tests: `scripts/tests.sh [vitest's arguments]`. If the failures of a test file cannot be judged because the
# machine had too little CPU time for them (test/judge/time.ts), the file runs again alone, at most twice. A failure in
# the last attempt counts. Every further attempt is reported, also at the end of .ci/run, and stored in the history.
set -u
cd "$(dirname "$0")/.."

HOLDFAST_TEST_RUN=${HOLDFAST_TEST_RUN:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}
export HOLDFAST_TEST_RUN
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# attempt NUMBER [vitest's arguments]: runs the tests, and writes the test files whose failures cannot be judged to
# $own/unjudged.
attempt() {
  number=$1
  shift
  rm -f "$own/unjudged"
  # In the last attempt, every failure counts.
  [ "$number" = 3 ] || export HOLDFAST_TEST_UNJUDGED="$own/unjudged"
  [ "$number" != 3 ] || unset HOLDFAST_TEST_UNJUDGED
  HOLDFAST_TEST_ATTEMPT=$number npx --no-install vitest run "$@" </dev/null
}

attempt 1 "$@"
status=$?
[ "$status" = 1 ] && [ -s "$own/unjudged" ] || exit "$status"

read -r others <"$own/unjudged"
status=0
[ "$others" = 0 ] || status=1
tail -n +2 "$own/unjudged" >"$own/files"
while IFS='	' read -r file project seen; do
  failed=1
  for number in 2 3; do
    printf '== could not be judged, attempt %s alone: %s: %s\n' "$number" "$file" "$seen"
    [ -z "${HOLDFAST_TEST_SUMMARY:-}" ] || printf '%s: %s\n' "$file" "$seen" >>"$HOLDFAST_TEST_SUMMARY.unjudged"
    attempt "$number" --project "$project" --reporter=default --reporter=./test/support/summary-reporter.ts \
      --reporter=./test/support/history-reporter.ts "$file"
    failed=$?
    [ "$failed" = 1 ] && [ -s "$own/unjudged" ] || break
    seen=$(tail -n +2 "$own/unjudged" | cut -f3)
  done
  [ "$failed" = 0 ] || status=1
done <"$own/files"
exit "$status"
