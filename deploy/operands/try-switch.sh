#!/bin/sh
# Switches the load balancer of the API to an external one and back, and DNS and ingress off and on: `try-switch.sh --help`. Needs
# kubectl (or oc) with the administrator's rights, and curl. docs/operands.md says what the result means.
set -eu

usage() {
  cat <<END
Usage: try-switch.sh ADDRESS [--rounds N] [--probe URL] [--within SECONDS]

Leads the API to the external load balancer at ADDRESS and back, N times (default 10). In each round ingress, node names and
application names are off on the way back. This interrupts the cluster.

  --rounds N         number of rounds
  --probe URL        what is asked ten times a second (default: /readyz at the first API VIP of Infrastructure)
  --within SECONDS   longest wait for one phase (default 3600: a pool whose nodes restart takes long)

Exit status: 0 every round was complete, and requests were lost only while HAProxy was stopped or started;
1 a phase did not end, a request was lost at another time, no request was sent, or the spec was not restored;
2 wrong arguments, no access, or kube-api does not answer at ADDRESS. In this case nothing was changed.
END
}

address='' rounds=10 probe='' within=3600
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --rounds) rounds=${2-} && shift ;;
    --probe) probe=${2-} && shift ;;
    --within) within=${2-} && shift ;;
    -*) echo "try-switch.sh: unknown flag $1 (--help lists the flags)" >&2 && exit 2 ;;
    *) address=$1 ;;
  esac
  shift
done
[ -n "$address" ] || { usage >&2 && exit 2; }
for number in "$rounds" "$within"; do
  case $number in
    '' | 0* | *[!0-9]*) echo "try-switch.sh: --rounds and --within need a number above 0, not \"$number\"" >&2 && exit 2 ;;
  esac
done
kubectl=$(command -v kubectl || command -v oc || true)
[ -n "$kubectl" ] || { echo 'try-switch.sh: kubectl and oc are missing' >&2 && exit 2; }

field() { "$kubectl" get hostednetservices cluster -o "jsonpath={$1}"; }
patch() { "$kubectl" patch hostednetservices cluster --type merge -p "$1" >/dev/null; }

found=$(field .spec) || { echo 'try-switch.sh: HostedNetServices cluster cannot be read' >&2 && exit 2; }
[ "$(field .status.loadBalancer.phase)" = SelfHosted ] || {
  echo 'try-switch.sh: the load balancer is not in the phase SelfHosted' >&2 && exit 2
}
url() { case $1 in *:*) echo "https://[$1]:6443/readyz" ;; *) echo "https://$1:6443/readyz" ;; esac; }
readyz() { curl --silent --insecure --fail --max-time 2 --output /dev/null "$1"; }
readyz "$(url "$address")" || {
  echo "try-switch.sh: kube-api does not answer at $(url "$address"); nothing was changed" >&2 && exit 2
}
own=$(field '.status.holders[?(@.service=="API")].address' | cut -d' ' -f1)
: "${probe:=$(url "$own")}"

folder=$(mktemp -d)
phase_file=$folder/phase
echo SelfHosted >"$phase_file"
prober=''
restored=yes
# A field that the found spec does not have goes back to its default.
restore() {
  patch '{"spec":{"ingressHa":"Enabled","dns":{"nodesResolution":"Enabled","appsResolution":"Enabled","apiintIpAddress":null}}}' &&
    patch "{\"spec\":$found}" && restored=yes
}
end() {
  trap '' HUP INT PIPE TERM
  [ -z "$prober" ] || kill "$prober" 2>/dev/null || true
  for pause in 0 1 2 4; do
    [ -z "$restored" ] || break
    sleep "$pause"
    restore || true
  done
  # The prober may still write a file there.
  rm -rf "$folder" || true
  [ -z "$restored" ] || return 0
  echo "try-switch.sh: the spec of HostedNetServices cluster was not restored. It was: $found" >&2 || true
  exit 1
}
trap end EXIT
# A shell skips the trap of EXIT after a signal without a trap.
trap 'exit 1' HUP INT PIPE TERM

# Writes the phase of each lost request.
ask() {
  while :; do
    readyz "$probe" || cat "$phase_file" >>"$folder/lost"
    echo >>"$folder/asked"
    sleep 0.1
  done
}
ask &
prober=$!

# reach PHASE: waits for a phase, and notes the time of each one on the way.
reach() {
  limit=$(($(date +%s) + within))
  while :; do
    now=$(field .status.loadBalancer.phase || cat "$phase_file")
    if [ "$now" != "$(cat "$phase_file")" ]; then
      echo "$now" >"$phase_file.new" && mv "$phase_file.new" "$phase_file"
      echo "$(date -u +%H:%M:%S) round $round: $now"
    fi
    [ "$now" != "$1" ] || return 0
    if [ "$(date +%s)" -ge "$limit" ]; then
      echo "try-switch.sh: the phase $now did not end within $within s:" >&2
      "$kubectl" get clusteroperator cluster-hosted-net-services -o 'jsonpath={range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}' >&2 || true
      exit 1
    fi
    sleep 1
  done
}

round=1 restored=''
while [ "$round" -le "$rounds" ]; do
  patch "{\"spec\":{\"dns\":{\"apiintIpAddress\":\"$address\"}}}"
  reach External
  patch '{"spec":{"ingressHa":"Disabled","dns":{"nodesResolution":"Disabled","appsResolution":"Disabled","apiintIpAddress":null}}}'
  # The operator sees the wish after a moment; until then the phase is still External.
  reach SelfHosted
  patch '{"spec":{"ingressHa":"Enabled","dns":{"nodesResolution":"Enabled","appsResolution":"Enabled"}}}'
  round=$((round + 1))
done
restore || true

touch "$folder/lost" "$folder/asked"
asked=$(wc -l <"$folder/asked")
echo "$asked requests, $(wc -l <"$folder/lost") lost"
sort "$folder/lost" | uniq -c
[ "$asked" -gt 0 ] || { echo 'try-switch.sh: no request was sent' >&2 && exit 1; }
if grep -Evq '^(StoppingHAProxy|StartingHAProxy)$' "$folder/lost"; then
  echo 'try-switch.sh: requests were lost outside of a change of HAProxy' >&2
  exit 1
fi
