# Imitates the environment of keepalived in a cluster's static pod. The script starts keepalived if its configuration
# file exists, and opens a socket. A line "reload" or "stop" on that socket becomes a signal for the oldest keepalived
# process. If there is no such process, "reload" starts keepalived. This script decides the place of the pod's folders
# (POD), the program that takes keepalived's role (KEEPALIVED), and the listener that replaces socat (LISTENER).
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
