#!/bin/sh
# What holdfast costs when nothing happens: start to Backup, memory, CPU time; two nodes in network namespaces.
#   bench/cost/measure.sh [seconds per row, 60 by default]      (root; build first: make build)
#   ROWS="1s:255" for some of the rows only: interval and number of virtual routers; RUNS=0 for no starts.
# Decided here: what is counted (the guardian and the engine with all its threads; start: from before the fork to the
# time inside the log record of the transition). Refuses to judge: the budgets are in docs/cost.md.
set -eu

seconds=${1:-60}
runs=${RUNS:-10}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
one=hfcost$$a
two=hfcost$$b
pids=

cleanup() {
  trap "" EXIT INT TERM
  # shellcheck disable=SC2086  # a list
  [ -z "$pids" ] || kill $pids 2>/dev/null || true
  wait
  ip netns del "$one" 2>/dev/null || true
  ip netns del "$two" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

ip netns add "$one"
ip netns add "$two"
ip -n "$one" link add eth0 type veth peer name eth0 netns "$two"
for node in "$one:10.77.9.1" "$two:10.77.9.2"; do
  ip -n "${node%%:*}" link set lo up
  ip -n "${node%%:*}" addr add "${node##*:}/24" dev eth0
  ip -n "${node%%:*}" link set eth0 up
done
sleep 1

# config NAME PRIORITY INTERVAL ROUTERS
config() {
  {
    printf 'runDirectory: %s\nvirtualRouters:\n' "$work/$1"
    for vrid in $(seq "$4"); do
      printf '  - { name: vip%s, vrid: %s, interface: eth0, addresses: [10.78.9.%s], ' "$vrid" "$vrid" "$vrid"
      printf 'priority: %s, advertisementInterval: %s }\n' "$2" "$3"
    done
  } >"$work/$1.yaml"
}
# pid of the engine below a guardian
engine() { tr -d " " <"/proc/$1/task/$1/children"; }
ticks() { for p in "$@"; do cut -d ' ' -f 14,15 "/proc/$p/stat"; done | awk '{ sum += $1 + $2 } END { print sum }'; }
rss() { awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"; }

printf 'Node %s, kernel %s\n\n' "$(node --version)" "$(uname -r)"

config start 100 100ms 1
# start_times WORD…: milliseconds, one line a run
start_times() {
  for run in $(seq "$runs"); do
    log=$work/start.$run
    : >"$log"
    before=$(date +%s%3N)
    ip netns exec "$one" "$@" run -c "$work/start.yaml" >"$log" 2>&1 &
    pids=$!
    while ! grep -q '"to":"Backup"' "$log"; do sleep 0.05; done
    sed -n 's/.*"time":\([0-9]*\).*"to":"Backup".*/\1/p' "$log" | awk -v before="$before" '{ print $1 - before }' >>"$work/starts"
    kill "$pids"
    wait "$pids" 2>/dev/null || true
    pids=
  done
}
for name in engine holdfast; do
  [ "$runs" -gt 0 ] || continue
  : >"$work/starts"
  case $name in
    engine) start_times node --max-semi-space-size=1 "$root/dist/bundle/main.js" ;;
    holdfast) start_times "$root/bin/holdfast" ;;
  esac
  sort -n "$work/starts" | awk -v name="$name" '{ v[NR] = $1 }
    END { printf "start to Backup, %-9s %3d ms minimum, %3d ms median, %3d ms maximum of %d\n", name ":", v[1], v[int((NR + 1) / 2)], v[NR], NR }'
done

printf '\n| interval | routers | role | CPU s/min | engine RSS MB | guardian RSS MB |\n|---|---|---|---|---|---|\n'
hertz=$(getconf CLK_TCK)
for row in ${ROWS:-1s:1 100ms:1 10ms:1 1s:255}; do
  interval=${row%%:*}
  routers=${row##*:}
  config active 200 "$interval" "$routers"
  config backup 100 "$interval" "$routers"
  ip netns exec "$one" "$root/bin/holdfast" run -c "$work/active.yaml" >/dev/null 2>&1 &
  active=$!
  pids=$active
  sleep 6
  ip netns exec "$two" "$root/bin/holdfast" run -c "$work/backup.yaml" >/dev/null 2>&1 &
  backup=$!
  pids="$active $backup"
  # The first half minute is the compiler at work.
  sleep 30
  active_before=$(ticks "$active" "$(engine "$active")")
  backup_before=$(ticks "$backup" "$(engine "$backup")")
  sleep "$seconds"
  for role in active backup; do
    eval "pid=\$$role; before=\$${role}_before"
    after=$(ticks "$pid" "$(engine "$pid")")
    cpu=$(awk -v t=$((after - before)) -v hz="$hertz" -v s="$seconds" 'BEGIN { printf "%.2f", t / hz * 60 / s }')
    state=$("$root/bin/holdfast" status --json --socket "$work/$role/holdfast.sock" | sed -n 's/.*"state": "\(.*\)".*/\1/p' | sort -u | paste -sd ' ')
    printf '| %s | %s | %s | %s | %s | %s |\n' "$interval" "$routers" "$state" "$cpu" "$(rss "$(engine "$pid")")" "$(rss "$pid")"
  done
  # shellcheck disable=SC2086  # a list
  kill $pids
  wait
  pids=
done
