#!/bin/sh
# Runs the tests of test/container: `scripts/container-tests.sh [vitest's arguments]`. With REQUIRE_DOCKER=1 the script
# installs and starts the Docker engine that the tests need, fails if that is impossible, and stops the engine
# afterwards. Without REQUIRE_DOCKER=1, the tests run if a Docker engine answers, and are skipped with a message if no
# engine answers. No container and no network of the tests remains, however the script ends.
set -eu
cd "$(dirname "$0")/.."

answers() { timeout 10 docker version >/dev/null 2>&1; }
# Removes what a killed run has left, as test/support/docker.ts does: every container and network whose label has the
# number of an ended process.
sweep() {
  timeout 60 docker "$@" --filter label=holdfast.made-by --format '{{.ID}} {{.Label "holdfast.made-by"}}' |
    while read -r id pid; do [ -d "/proc/$pid" ] || printf '%s\n' "$id"; done
}
clean_up() {
  trap - EXIT INT TERM
  if answers; then
    sweep ps --all | xargs -r docker rm --force --volumes >/dev/null || true
    sweep network ls | xargs -r docker network rm >/dev/null || true
  fi
  [ -z "$started" ] || scripts/docker-engine.sh stop
}

started=
if [ "${REQUIRE_DOCKER:-}" = 1 ]; then
  scripts/setup.sh container
  answers || started=yes
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  scripts/docker-engine.sh start
elif answers; then
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
else
  echo 'container-tests: left out, no Docker engine answers here (REQUIRE_DOCKER=1 installs and starts one)'
  exit 0
fi

scripts/tests.sh --project container "$@"
