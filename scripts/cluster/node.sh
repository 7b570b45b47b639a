#!/bin/bash
# Is the first process of a node of `make cluster`: `node.sh FOLDER NAME ADDRESS`. Starts in new mount, PID, UTS, IPC and cgroup
# namespaces, and in the network namespace of the node. The file system is an overlay over this machine's files; FOLDER has
# what the node writes, so a node that starts again finds its disk. Runs containerd and kubelet, and starts each of them again
# when it ends, as a service manager does. If this process is killed, the kernel kills all processes of the node.
set -eu
folder=$1
name=$2
address=$3
root=$folder/root
mount --make-rprivate /
mkdir -p "$folder/upper" "$folder/work" "$folder/disk" "$root"
rm -rf "$folder/work"/*
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root/opt/programs" "$root/images"
mount --bind "$PROGRAMS" "$root/opt/programs"
mount --bind "$IMAGES" "$root/images"
# An overlay cannot be the upper layer of another one: containerd and kubelet have a plain disk.
for place in containerd kubelet etcd; do
  mkdir -p "$folder/disk/$place" "$root/var/lib/$place"
  mount --bind "$folder/disk/$place" "$root/var/lib/$place"
done
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  while IFS=: read -r _ controllers _; do
    case $controllers in '') continue ;; name=*) place=${controllers#name=} ;; *) place=$controllers ;; esac
    mkdir "$root/sys/fs/cgroup/$place"
    mount -t cgroup -o "$controllers" cgroup "$root/sys/fs/cgroup/$place"
  done </proc/self/cgroup
fi
# kubelet sets these parameters, which belong to the whole machine. kubelet gets files with the values that it wants.
mkdir "$root/run/parameters"
for parameter in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=${parameter%=*}
  [ -e "/proc/sys/$file" ] || continue
  printf '%s\n' "${parameter#*=}" >"$root/run/parameters/${file//\//-}"
  mount --bind "$root/run/parameters/${file//\//-}" "$root/proc/sys/$file"
done
mkdir "$root/run/old"
cd "$root"
pivot_root . run/old
umount -l /run/old
hostname "$name"
export PATH=/opt/programs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount --make-rshared /

# forever NAME COMMAND...: runs a command, and starts it again when it ends.
forever() {
  local log=/var/log/$1.log
  shift
  while :; do
    "$@" >>"$log" 2>&1 || true
    sleep 1
  done
}
forever containerd containerd --config /etc/containerd/config.toml &
until ctr version >/dev/null 2>&1; do sleep 0.1; done
for image in /images/*.tar; do
  [ -e "/var/lib/containerd/imported-${image##*/}" ] || ctr -n k8s.io images import "$image" >/dev/null
  touch "/var/lib/containerd/imported-${image##*/}"
done
forever kubelet kubelet --config=/var/lib/kubelet/config.yaml --kubeconfig=/var/lib/kubelet/kubeconfig \
  --hostname-override="$name" --node-ip="$address" --v=2 &
# The shell collects ended children of containers, until the node is killed. A shutdown (scripts/cluster.sh) ends the two loops
# above, and then kills the node when its containers have ended. The SIGTERM of a shutdown ends the sleep as well, but not this process.
wait
while :; do sleep 1 || true; done
