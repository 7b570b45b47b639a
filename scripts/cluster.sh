#!/bin/bash
# Control plane nodes of a real Kubernetes on this machine, in namespaces: each has its own kubelet and containerd, and runs etcd,
# kube-apiserver and holdfast as static pods. `scripts/cluster.sh --help` has the commands. The cluster has its files in /run/holdfast-NAME (HOLDFAST_CLUSTER,
# "cluster" if not set), its network namespaces are hfNAME-*, and its cgroups are holdfast-NAME. This script does not know what
# the tests do with the cluster.
set -eu
PATH=$PATH:/usr/sbin:/sbin
cluster=${HOLDFAST_CLUSTER:-cluster}
state=/run/holdfast-$cluster
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
vip=10.77.1.100
addresses='n1=10.77.1.11 n2=10.77.1.12 n3=10.77.1.13'
client=10.77.1.200
# CPU time of the nodes together, if other processes want it too: as that of so many processes.
shares=24
# Seconds that a node has to end in good order: more than the grace period of kube-apiserver.
grace=40

say() { printf 'cluster: %s\n' "$*" >&2; }
fail() { say "$*"; exit 69; }
usage() {
  cat <<END
usage: scripts/cluster.sh COMMAND
  up               start the nodes n1, n2 and n3; the API is at $vip
  down             remove the cluster
  kubectl ARGS     run kubectl as administrator, through the virtual address, on the LAN of the nodes
  client COMMAND   run a command on the LAN of the nodes
  on NODE COMMAND  run a command on a node
  yield NODE       let the holdfast of a node give the virtual address up
  off NODE         kill all processes of a node, as a power failure does
  shutdown NODE    end all processes of a node by SIGTERM, as a service manager does without graceful node shutdown
  start NODE       start a node that is off; its disk has what it had
  pki              print the folder of the certificates and kubeconfigs
Needs root, and the programs of scripts/cluster-binaries.sh. HOLDFAST_CLUSTER=NAME gives the cluster another name.
END
}
ns() { printf 'hf%s-%s' "$cluster" "$1"; }
address_of() { for node in $addresses; do [ "${node%%=*}" != "$1" ] || printf %s "${node#*=}"; done; }
known() { [ -n "$(address_of "$1")" ] || fail "there is no node \"$1\": expected one of n1, n2, n3"; }
pid_of() { cat "$state/nodes/$1/pid" 2>/dev/null || true; }
runs() { local pid; pid=$(pid_of "$1"); [ -n "$pid" ] && [ -d "/proc/$pid" ]; }
# Commands of the cgroup hierarchies: one folder for each, or the only folder of cgroup v2.
hierarchies() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo /sys/fs/cgroup; else
    for one in /sys/fs/cgroup/*/cgroup.procs; do case $one in */unified/*) ;; *) dirname "$one" ;; esac; done
  fi
}
on_client() { ip netns exec "$(ns client)" "$@"; }
on_node() {
  local pid
  pid=$(pid_of "$1")
  shift
  # The first process of the node is the child of unshare.
  nsenter --target "$(pgrep -P "$pid")" --all -- env PATH="/opt/programs:$PATH" HOME=/root "$@"
}
kubectl() { on_client "$programs/kubectl" --kubeconfig "$state/pki/admin.conf" "$@"; }

lan() {
  ip netns add "$(ns lan)"
  ip -n "$(ns lan)" link add lan type bridge forward_delay 0 mcast_snooping 0
  ip -n "$(ns lan)" link set lan up
  for node in $addresses client=$client; do
    local name=${node%%=*}
    ip netns add "$(ns "$name")"
    ip -n "$(ns "$name")" link add eth0 type veth peer name "$name" netns "$(ns lan)"
    ip -n "$(ns lan)" link set "$name" master lan up
    ip -n "$(ns "$name")" address add "${node#*=}/24" dev eth0
    ip -n "$(ns "$name")" link set lo up
    ip -n "$(ns "$name")" link set eth0 up
    ip -n "$(ns "$name")" route add default via 10.77.1.1
  done
}

# Writes a manifest of deploy/static-pod with the edits that its comments ask for.
edited() {
  sed -e "s|registry.example.com/holdfast:[^ ]*|localhost/holdfast:cluster|" \
    -e "s|10\.0\.0\.200|$vip|; s|10\.0\.0\.1\([123]\)|10.77.1.1\1|" "$root/deploy/static-pod/$1"
}

prepare() {
  local name=$1 address=$2 upper=$state/nodes/$1/upper disk=$state/nodes/$1/disk
  mkdir -p "$upper/etc/kubernetes/manifests" "$upper/etc/kubernetes/pki" "$upper/etc/containerd" "$upper/etc/cni/net.d" \
    "$disk/kubelet" "$upper/etc/holdfast"
  cp "$state/pki/$name.conf" "$disk/kubelet/kubeconfig"
  cp "$here/cluster/kubelet.yaml" "$disk/kubelet/config.yaml"
  cp "$here/cluster/containerd.toml" "$upper/etc/containerd/config.toml"
  sed "s/@POSITION@/${address##*.}/" "$here/cluster/network.conflist" >"$upper/etc/cni/net.d/10-pods.conflist"
  cp "$state/pki/ca.crt" "$upper/etc/kubernetes/pki/"
  cp "$state"/pki/* "$upper/etc/kubernetes/pki/"
  local members
  members=$(printf '%s\n' $addresses | sed -n 's|^\(n.\)=\(.*\)|\1=http://\2:2380|p' | paste -sd,)
  for file in "$here"/cluster/manifests/*.yaml; do
    sed "s|@NAME@|$name|; s|@ADDRESS@|$address|; s|@MEMBERS@|$members|" "$file" >"$upper/etc/kubernetes/manifests/${file##*/}"
  done
  edited kubeadm-api.holdfast.yaml >"$upper/etc/holdfast/holdfast.yaml"
  edited kubeadm-api.yaml >"$upper/etc/kubernetes/manifests/holdfast.yaml"
}

start() {
  known "$1"
  ! runs "$1" || fail "$1 runs already"
  local name=$1 folder
  ip -n "$(ns lan)" link set "$name" up
  for folder in $(hierarchies); do
    mkdir -p "$folder/holdfast-$cluster/$name"
    # Three nodes are three machines: without this share they would get as much CPU time as one process of this machine.
    [ ! -e "$folder/cpu.shares" ] || echo $((1024 * shares)) >"$folder/holdfast-$cluster/cpu.shares"
    [ ! -e "$folder/holdfast-$cluster/cpu.weight" ] || echo $((100 * shares)) >"$folder/holdfast-$cluster/cpu.weight"
    # The groups of a cpuset have no CPU and no memory until they are set.
    for file in cpuset.cpus cpuset.mems; do
      [ ! -e "$folder/$file" ] || for part in "holdfast-$cluster" "holdfast-$cluster/$name"; do cat "$folder/$file" >"$folder/$part/$file"; done
    done
  done
  (
    for folder in $(hierarchies); do echo "$BASHPID" >"$folder/holdfast-$cluster/$name/cgroup.procs"; done
    export PROGRAMS=$programs IMAGES=$state/images
    exec setsid nsenter --net="/run/netns/$(ns "$name")" -- unshare --mount --pid --uts --ipc --cgroup --fork --kill-child \
      "$here/cluster/node.sh" "$state/nodes/$name" "$name" "$(address_of "$name")" </dev/null >"$state/nodes/$name/log" 2>&1
  ) &
  echo $! >"$state/nodes/$name/pid"
}

# Takes the cable away, kills all processes, and removes what the kernel of a machine without power would not have.
off() {
  known "$1"
  local pid
  pid=$(pid_of "$1")
  [ -n "$pid" ] || return 0
  ip -n "$(ns lan)" link set "$1" down
  # The first process of the PID namespace takes all others with it.
  pkill -KILL -P "$pid" 2>/dev/null || true
  for _ in $(seq 100); do [ -d "/proc/$pid" ] || break; sleep 0.1; done
  rm -f "$state/nodes/$1/pid"
  ip -n "$(ns "$1")" address flush dev eth0
  ip -n "$(ns "$1")" address add "$(address_of "$1")/24" dev eth0
  ip -n "$(ns "$1")" route replace default via 10.77.1.1
}

# Hands the virtual address over, for a reboot that follows: the node does not take the address back for ten minutes.
yield() {
  known "$1"
  local container
  container=$(on_node "$1" ctr -n k8s.io containers list -q 'labels."io.kubernetes.container.name"==holdfast' | while read -r id; do
    on_node "$1" ctr -n k8s.io tasks list -q | grep -x "$id" || true
  done | head -n 1)
  [ -n "$container" ] || fail "holdfast does not run on $1"
  on_node "$1" ctr -n k8s.io tasks exec --exec-id "yield-$$" "$container" holdfast yield api --for 10m
}

# Ends kubelet and containerd first, so that neither starts a container again. Then all other processes get SIGTERM at the same time.
shutdown() {
  known "$1"
  runs "$1" || fail "$1 is off"
  on_node "$1" sh -c 'pkill -KILL -P 1 -x node.sh; pkill -TERM -x kubelet; pkill -TERM -x containerd; sleep 0.5; kill -TERM -1' || true
  local until=$(($(date +%s) + grace)) program
  for program in holdfast-guard kube-apiserver etcd; do
    while on_node "$1" pgrep "$program" >/dev/null 2>&1 && [ "$(date +%s)" -lt "$until" ]; do sleep 0.1; done
  done
  off "$1"
}

# wait_for SECONDS TEXT COMMAND...
wait_for() {
  local until=$(($(date +%s) + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$until" ] || fail "gave up waiting for $what (logs: $state/nodes/*/upper/var/log)"
    sleep 0.5
  done
}
all_ready() { [ "$(kubectl get nodes --no-headers | grep -cw Ready)" = "$(wc -w <<<"$addresses")" ]; }
pods_run() { local pods; pods=$(kubectl get pods -A --no-headers) && [ "$(grep -c . <<<"$pods")" -ge $(($(wc -w <<<"$addresses") * 3)) ] && ! grep -vE ' ([0-9]+)/\1 +Running ' <<<"$pods"; }

up() {
  [ "$(id -u)" = 0 ] || fail 'needs root'
  [ ! -e "$state" ] || fail "$state is there: a cluster runs already (scripts/cluster.sh down removes it)"
  command -v runc >/dev/null 2>&1 || fail 'there is no runc here: run scripts/setup.sh cluster'
  local began
  began=$(date +%s)
  trap 'status=$?; [ "$status" = 0 ] || [ -n "${HOLDFAST_CLUSTER_KEEP-}" ] || down; exit $status' EXIT
  mkdir "$state"
  mount -t tmpfs -o mode=755 tmpfs "$state"
  mkdir "$state/pki" "$state/images" "$state/nodes"
  "$here/cluster/image.sh" "$(dirname "$programs")" "$state/images"
  # shellcheck disable=SC2086  # a list of nodes
  "$here/cluster/certificates.sh" "$state/pki" "$vip" $addresses
  lan
  say "images and certificates after $(($(date +%s) - began)) s"
  for node in $addresses; do prepare "${node%%=*}" "${node#*=}"; done
  for node in $addresses; do start "${node%%=*}"; done
  wait_for 240 "the API at $vip" kubectl get --raw /readyz
  say "the API answers at $vip after $(($(date +%s) - began)) s"
  wait_for 180 'the nodes to be ready' all_ready
  wait_for 180 'all pods to run' pods_run
  say "all nodes are ready and all their pods run after $(($(date +%s) - began)) s"
  say "scripts/cluster.sh kubectl get pods -A"
}

down() {
  for node in $addresses; do off "${node%%=*}"; done
  for name in n1 n2 n3 client lan; do
    [ ! -e "/run/netns/$(ns "$name")" ] || ip netns delete "$(ns "$name")"
  done
  for folder in $(hierarchies); do
    [ -d "$folder/holdfast-$cluster" ] || continue
    find "$folder/holdfast-$cluster" -depth -type d -exec rmdir {} + 2>/dev/null || say "cannot remove $folder/holdfast-$cluster"
  done
  if mountpoint -q "$state"; then umount "$state" || umount -l "$state"; fi
  [ ! -e "$state" ] || rmdir "$state"
}

command=${1-}
[ $# = 0 ] || shift
case $command in
  '' | help | --help | -h) usage; exit 0 ;;
  up | down | kubectl | client | on | off | shutdown | start | yield | pki) ;;
  *) say "unknown command \"$command\""; usage >&2; exit 64 ;;
esac
programs=$("$here/cluster-binaries.sh" --look) || [ "$command" = down ] || exit 69
case $command in
  up | down) "$command" ;;
  *)
    mountpoint -q "$state" || fail 'no cluster runs here: scripts/cluster.sh up starts one'
    case $command in
      kubectl) kubectl "$@" ;;
      client) on_client "$@" ;;
      pki) echo "$state/pki" ;;
      on) known "${1-}"; runs "$1" || fail "$1 is off"; on_node "$@" ;;
      *) "$command" "${1-}" ;;
    esac
    ;;
esac
