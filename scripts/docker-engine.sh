#!/bin/sh
# Provides a Docker engine to build or test the image: `scripts/docker-engine.sh` uses an engine that answers, or starts
# one and waits for it. `scripts/docker-engine.sh stop` stops only the engine that this script has started. Decided
# here: a network namespace never has a second engine, which would delete the bridge of the first. The engine runs on
# after the end of the shell that started it. A stopped engine leaves its images and networks on the disk, and nothing
# in the kernel. Exit status: 0 if the engine answers (or is stopped); 69 with a reason if no engine is possible.
set -eu

PATH=$PATH:/usr/sbin:/sbin
export PATH
state=/run/holdfast-docker-engine
log=$state/log
seconds=60

say() { printf 'docker-engine: %s\n' "$*" >&2; }
fail() { say "$*"; exit 69; }

answers() { timeout 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }
alive() { [ -n "${1:-}" ] && [ -d "/proc/$1" ] && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; }
engine_of() { cat "$1" 2>/dev/null || true; }

# Kernel settings of forwarding and bridges that a Docker engine changes for the whole network namespace.
switches='net.ipv4.ip_forward net.ipv6.conf.all.forwarding net.ipv6.conf.default.forwarding
  net.bridge.bridge-nf-call-iptables net.bridge.bridge-nf-call-ip6tables'
place_of() { printf '/proc/sys/%s' "$1" | tr . /; }
remember() {
  : >"$state/switches"
  for switch in $switches; do
    # A missing setting belongs to a kernel module that the Docker engine loads. Without that module its value counts as
    # 0.
    printf '%s %s\n' "$switch" "$(cat "$(place_of "$switch")" 2>/dev/null || echo 0)" >>"$state/switches"
  done
  for tables in iptables ip6tables; do
    $tables -S FORWARD 2>/dev/null | sed -n 's/^-P FORWARD //p' >"$state/$tables" || true
  done
}
restore() {
  while read -r switch value; do
    if [ -e "$(place_of "$switch")" ]; then
      printf '%s\n' "$value" 2>/dev/null >"$(place_of "$switch")" || say "cannot set $switch back to $value"
    fi
  done <"$state/switches"
  for tables in iptables ip6tables; do
    policy=$(engine_of "$state/$tables")
    [ -z "$policy" ] || $tables -P FORWARD "$policy" || say "cannot set the policy of $tables FORWARD back to $policy"
  done
}

# Removes the packet filter rules that name the engine's chains or one of its bridges ($1, a pattern), then the chains.
sweep_rules() {
  for tables in iptables ip6tables; do
    for table in filter nat; do
      $tables -t $table -S 2>/dev/null | grep -E -- "DOCKER|$1" | sed -n 's/^-A /-D /p' |
        while read -r rule; do
          # shellcheck disable=SC2086  # words of a rule
          $tables -t $table $rule 2>/dev/null || true
        done
      $tables -t $table -S 2>/dev/null | sed -n 's/^-N \(DOCKER.*\)/\1/p' | while read -r chain; do
        $tables -t $table -F "$chain" && $tables -t $table -X "$chain" || true
      done
    done
  done
}

start() {
  command -v docker >/dev/null 2>&1 || fail 'there is no docker command here: run scripts/setup.sh container'
  answers && return 0
  # DOCKER_HOST names a Docker engine elsewhere. An engine that this script starts would not be used.
  [ -z "${DOCKER_HOST:-}" ] || fail "no engine answers at DOCKER_HOST ($DOCKER_HOST)"
  [ "$(id -u)" = 0 ] || fail 'no engine answers, and only root can start one'
  command -v dockerd >/dev/null 2>&1 || fail 'there is no dockerd here: run scripts/setup.sh container'
  mkdir -p "$state"
  # If two callers run this script at the same time, the second waits for the engine of the first.
  exec 9>"$state/lock"
  flock 9
  answers && return 0
  own=
  pid=$(engine_of /run/docker.pid)
  if ! alive "$pid"; then
    remember
    say "starting dockerd (log: $log)"
    setsid nohup dockerd </dev/null >"$log" 2>&1 9>&- &
    pid=$!
    own=yes
    printf '%s\n' "$pid" >"$state/pid"
  fi
  waited=0
  until answers; do
    if ! alive "$pid"; then
      [ -z "$own" ] || rm -f "$state/pid"
      tail -n 5 "$log" 2>/dev/null | sed 's/^/docker-engine: /' >&2
      fail 'dockerd ended, its last lines are above'
    fi
    [ "$waited" -lt "$seconds" ] || fail "dockerd (pid $pid) does not answer after $seconds s"
    sleep 1
    waited=$((waited + 1))
  done
}

stop() {
  pid=$(engine_of "$state/pid")
  if ! alive "$pid" || [ "$(cat "/proc/$pid/comm")" != dockerd ]; then
    say 'this script has no running engine'
    rm -f "$state/pid"
    return 0
  fi
  bridges=$(timeout 10 docker network ls --quiet --filter driver=bridge 2>/dev/null | sed 's/^/br-/' || true)
  links="docker0 $bridges"
  kill "$pid"
  waited=0
  while alive "$pid"; do
    [ "$waited" -lt "$seconds" ] || fail "dockerd (pid $pid) does not end"
    sleep 1
    waited=$((waited + 1))
  done
  # shellcheck disable=SC2086  # a list of names
  for link in $links; do ip link delete "$link" 2>/dev/null || true; done
  # shellcheck disable=SC2086
  sweep_rules "$(echo $links | tr ' ' '|')"
  restore
  rm -f "$state/pid"
}

case ${1:-start} in
  start) start ;;
  stop) stop ;;
  *) echo 'usage: scripts/docker-engine.sh [start|stop]' >&2; exit 64 ;;
esac
