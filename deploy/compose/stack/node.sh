#!/bin/sh
# Starts the parts of a control plane node in one container (profile stack of docker-compose.yml). A part that ends is started
# again after a second, as kubelet and systemd do. `pkill -f NAME` in the container ends a part. SIGTERM ends the node: the VIPs
# leave it first.
set -u
socket=/run/haproxy/haproxy-master.sock

# Docker's own DNS server of the container is the upstream server. The node asks its CoreDNS first, as after resolv-prepender.
cp /etc/resolv.conf /run/upstream.conf
printf 'nameserver 127.0.0.1\nsearch lab.example.com\n' >/etc/resolv.conf

part() {
  name=$1; shift
  while :; do
    "$@" 2>&1 | sed -u "s/^/$name: /"
    sleep 1
  done &
}
part api node /lab/stack/api.ts "$HOSTNAME" 198.51.100.41 198.51.100.42 198.51.100.43
part holdfast holdfast run -c "/lab/stack/$HOSTNAME.yaml"
part monitor holdfast monitor /lab/stack/kubeconfig /lab/haproxy/haproxy.cfg.tmpl /etc/haproxy/haproxy.cfg \
  --api-vips=198.51.100.110 --haproxy-socket=$socket --state-dir=/run/holdfast-monitor --log-format=text
part haproxy holdfast-haproxy /etc/haproxy/haproxy.cfg $socket
corefile="/lab/stack/kubeconfig /lab/dns/Corefile.tmpl /etc/coredns/Corefile --api-vips=198.51.100.110
  --ingress-vips=198.51.100.111 --resolv-conf=/run/upstream.conf --log-format=text"
# shellcheck disable=SC2086  # a list of arguments
holdfast corednsmonitor $corefile --once
# shellcheck disable=SC2086
part corednsmonitor holdfast corednsmonitor $corefile
part coredns coredns -conf /etc/coredns/Corefile

trap 'trap "" TERM; holdfast stop; exit 0' TERM INT
while :; do wait; done
