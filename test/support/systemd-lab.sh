#!/bin/sh
# Runs as the first process of the separate machine of test/support/systemd-lab.ts. The script mounts an overlay over
# this machine's files, which is thrown away, and empty /run and /tmp. After the mounts the script starts systemd as PID
# 1 without any service to start. Argument: an empty folder. The script runs in new mount, PID, network, UTS, IPC and
# cgroup namespaces.
set -eu
base=$1
root=$base/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$base"
mkdir "$base/upper" "$base/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/dev"
for node in null zero full random urandom tty; do
  : >"$root/dev/$node"
  mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root/dev/shm" "$root/dev/pts" "$root/dev/mqueue" "$root/dev/hugepages"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
ln -s pts/ptmx "$root/dev/ptmx"
: >"$root/run/console"
ln -s /run/console "$root/dev/console"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd,xattr cgroup "$root/sys/fs/cgroup/systemd"
fi
rm -rf "$root"/etc/systemd/system/*.wants
printf '[Unit]\nDescription=lab\nDefaultDependencies=no\n' >"$root/etc/systemd/system/lab.target"
mkdir "$root/run/old"
cd "$root"
pivot_root . run/old
umount -l /run/old
export container=lab
exec /lib/systemd/systemd --system --unit=lab.target --log-target=console --log-level=info --show-status=no
