# The environment of keepalived in a cluster's static pod, step by step. It creates the file and a socket whose lines
# become signals for the oldest process of the name. Otherwise the first reload starts the daemon. Decided here: only
# the place of the pod's folders (POD), the daemon in the role of keepalived (KEEPALIVED) and the listener (LISTENER,
# for socat).
set -u
mount -t tmpfs none /run
export POD KEEPALIVED
start() {
  "$KEEPALIVED" -f "$POD/keepalived.conf" --dont-fork --vrrp --log-detail --log-console &
}
reload_keepalived() {
  if pid=$(pgrep -o keepalived); then kill -s SIGHUP "$pid"; else start; fi
}
stop_keepalived() {
  echo stopped >> "$POD/stopped"
  if pid=$(pgrep -o keepalived); then kill -s TERM "$pid"; fi
}
msg_handler() {
  while read -r line; do
    case $line in
      reload) reload_keepalived ;;
      stop) stop_keepalived ;;
    esac
  done
}
export -f start reload_keepalived stop_keepalived msg_handler
if [ -s "$POD/keepalived.conf" ]; then start; fi
rm -f "$POD/keepalived.sock"
# The shell remains the first process, and waits for the ended children of its handlers.
$LISTENER "$POD/keepalived.sock"
