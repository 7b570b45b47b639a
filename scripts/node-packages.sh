#!/bin/sh
# Downloads the Debian packages of a node's network services (NetworkManager, systemd-resolved, the message bus) for the
# tests, and prints the folder with them. With --look, the script downloads nothing, and fails if the folder does not
# exist. The packages are not installed here, because systemd-resolved would replace /etc/resolv.conf, and
# NetworkManager would configure this machine's interfaces. test/support/node-network-lab.ts unpacks them in a machine
# of its own. The folder has only those packages that this machine does not have, with what they need.
set -eu

packages='network-manager systemd-resolved dbus'
release=$(. /etc/os-release 2>/dev/null && printf '%s%s' "${ID-}" "${VERSION_ID-}")
folder=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/node-packages-${release:-unknown}

if [ ! -d "$folder" ]; then
  [ "${1-}" != --look ] || exit 1
  for tool in apt-get dpkg-deb; do
    command -v "$tool" >/dev/null 2>&1 || {
      echo "node-packages: cannot download $packages: there is no $tool here" >&2
      exit 1
    }
  done
  next=$folder.$$
  trap 'rm -rf "$next"' EXIT
  mkdir -p "$next/partial"
  # shellcheck disable=SC2086  # a list of package names
  { apt-get update -q && apt-get install -y -q --download-only --no-install-recommends -o "Dir::Cache::archives=$next" $packages; } </dev/null >"$next/log" 2>&1 || {
    tail -n 20 "$next/log" >&2
    echo "node-packages: cannot download $packages: apt-get failed, its last lines are above" >&2
    exit 1
  }
  rm -rf "$next/partial" "$next/lock" "$next/log"
  # Of two downloads at a time, the first one stays.
  mv -T "$next" "$folder" 2>/dev/null || [ -d "$folder" ]
fi
printf '%s\n' "$folder"
