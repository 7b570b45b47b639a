#!/bin/sh
# Installs what this checkout needs: `scripts/setup.sh runtime` for the demo, `scripts/setup.sh test` for the tests,
# `scripts/setup.sh bench` for the benchmark, `scripts/setup.sh container` for the image, `scripts/setup.sh fuzz` for
# the fuzzers of the native parts. `scripts/setup.sh cluster` is for nodes of Kubernetes. Several modes install all
# their packages by one call of apt-get. This script decides which Debian packages are needed, and when node_modules and
# dist are outdated. The script installs only what is missing, prints nothing if nothing is missing, and never starts a
# service of a package.
set -eu

modes=${*:-runtime}
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# Commands that the modes need, as `command:package`.
needs=
for mode in $modes; do
  case $mode in
    runtime) needs="$needs ip:iproute2" ;;
    test)
      needs="$needs ip:iproute2 sysctl:procps nft:nftables keepalived:keepalived vtysh:frr tshark:tshark dumpcap:tshark"
      # Services that health checks check in tests (haproxy, openssl), and the program of keepalived's checks in the
      # benchmark (curl).
      needs="$needs haproxy:haproxy curl:curl openssl:openssl"
      # Prometheus reads deploy/prometheus, and scrapes nodes with it.
      needs="$needs prometheus:prometheus promtool:prometheus"
      # Tests of an installed release use these programs.
      needs="$needs systemctl:systemd nsenter:util-linux"
      # Tests of the status page use this browser.
      needs="$needs chromium:chromium"
      # The DNS part is tried with a DNS client and with dnsmasq.
      needs="$needs dig:bind9-dnsutils dnsmasq:dnsmasq-base"
      # strace holds a process in a system call, as a busy kernel does.
      needs="$needs strace:strace"
      # A compiler for the optional package raw-socket.
      needs="$needs g++:g++ make:make python3:python3"
      ;;
    bench)
      needs="$needs ip:iproute2 sysctl:procps nft:nftables keepalived:keepalived vtysh:frr tshark:tshark dumpcap:tshark"
      needs="$needs haproxy:haproxy curl:curl openssl:openssl"
      # The benchmark compiles its measuring programs at its start (g++ brings gcc and its headers). rsvg-convert draws
      # pictures as PNG.
      needs="$needs cc:g++ rsvg-convert:librsvg2-bin"
      ;;
    container)
      # The Docker engine (scripts/docker-engine.sh), and the program that makes stand-ins of base images.
      needs="$needs ip:iproute2 dockerd:docker.io docker:docker.io iptables:iptables mmdebstrap:mmdebstrap"
      # The lab (make lab) uses nft to drop protocol 112, and Compose, which is installed if version 2 is missing.
      needs="$needs nft:nftables"
      docker compose version >/dev/null 2>&1 || needs="$needs docker-compose:docker-compose"
      # The programs on the next lines run the manifests of static pods.
      needs="$needs nsenter:util-linux podman:podman runc:runc catatonit:catatonit"
      ;;
    fuzz)
      needs="$needs ip:iproute2 clang:clang cc:g++ nm:binutils"
      # libFuzzer and the sanitizers are libraries without a command, so their file is looked for.
      ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1 ||
        needs="$needs libclang_rt:libclang-rt-dev"
      ;;
    cluster)
      # Programs of the nodes that scripts/cluster-binaries.sh does not build, and the program that makes the base of the images.
      needs="$needs ip:iproute2 nsenter:util-linux pgrep:procps openssl:openssl mmdebstrap:mmdebstrap"
      needs="$needs containerd:containerd ctr:containerd runc:runc"
      # Plugins for the network of pods are not on the PATH.
      [ -x /usr/lib/cni/bridge ] || needs="$needs bridge-plugin:containernetworking-plugins"
      ;;
    *) fail "Cannot set up \"$mode\": expected runtime, test, bench, container, fuzz or cluster" ;;
  esac
done

# Returns whether a mode is among the given ones.
sets_up() {
  case " $modes " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

PATH=$PATH:/usr/sbin:/sbin
export PATH

# Packages ----------------------------------------------------------------------------------------------------------

missing=
for need in $needs; do
  package=${need#*:}
  command -v "${need%%:*}" >/dev/null 2>&1 && continue
  case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
done

policy=/usr/sbin/policy-rc.d
policy_saved=
policy_made=
restore_policy() {
  [ -n "$policy_made" ] && rm -f "$policy"
  [ -n "$policy_saved" ] && mv "$policy_saved" "$policy"
  policy_made= policy_saved=
  return 0
}

if [ -n "$missing" ]; then
  command -v apt-get >/dev/null 2>&1 || fail "Cannot install$missing: no apt-get here, install them by hand"
  [ "$(id -u)" = 0 ] || fail "Cannot install$missing: not root (run: apt-get install --no-install-recommends$missing)"
  say "installing$missing"
  # The packages of keepalived, FRR and HAProxy would start their daemons in this network namespace. A policy-rc.d with
  # exit status 101 forbids that.
  trap restore_policy EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if [ -e "$policy" ]; then
    policy_saved=$policy.holdfast-saved
    mv "$policy" "$policy_saved"
  fi
  policy_made=yes
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"

  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086  # a list of package names
  if ! { apt-get update -q </dev/null && apt-get install -y -q --no-install-recommends $missing </dev/null; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    fail "Cannot install$missing: apt-get failed, its last lines are above"
  fi
  rm -f "$log"
  restore_policy
  trap - EXIT INT TERM
fi

# Node --------------------------------------------------------------------------------------------------------------

command -v node >/dev/null 2>&1 || fail 'Cannot find node: Node.js 20.19 or newer is needed'
command -v npm >/dev/null 2>&1 || fail 'Cannot find npm: it comes with Node.js 20.19 or newer'
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
  fail "Cannot use node $(node --version): 20.19 or newer is needed"

# Dependencies: outdated if the lock file has changed since their installation. --------------------------------------

lock=$(sha256sum package-lock.json package.json | sha256sum | cut -d' ' -f1)
stamp=node_modules/.holdfast-lock
if [ "$(cat "$stamp" 2>/dev/null)" != "$lock" ]; then
  say 'npm install'
  # --no-save: another version of npm must not rewrite the lock file. --ignore-scripts: holdfast runs without what the
  # scripts build. --prefer-offline: the lock file names the versions, so packages in npm's cache are new enough.
  npm install --no-save --prefer-offline --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null >&2 || fail 'npm install failed'
  printf '%s\n' "$lock" >"$stamp"
fi

# The optional package of `io: raw-socket` is C++, compiled for one version of Node.js. Only mode `test` needs it. -----

if sets_up test; then
  addons=node_modules/.holdfast-addons
  built="$lock $(node -p process.versions.modules)"
  if [ "$(cat "$addons" 2>/dev/null)" != "$built" ] ||
    [ ! -e node_modules/raw-socket/build/Release/raw.node ]; then
    say 'npm rebuild raw-socket'
    # The headers of Node.js are beside its binary if they were installed with it. If the headers are missing, node-gyp
    # downloads them.
    prefix=$(node -p 'require("node:path").resolve(process.execPath, "..", "..")')
    if [ -z "${npm_config_nodedir:-}" ] && [ -e "$prefix/include/node/node.h" ]; then
      export npm_config_nodedir="$prefix"
    fi
    log=$(mktemp)
    if npm rebuild raw-socket --foreground-scripts </dev/null >"$log" 2>&1; then
      printf '%s\n' "$built" >"$addons"
    else
      tail -n 15 "$log" >&2
      # Tests that need raw-socket name it in their message, and fail with REQUIRE_NETNS=1.
      say 'Cannot build raw-socket (a C++ compiler, python3 and the headers of Node.js are needed)'
    fi
    rm -f "$log"
  fi
fi

# CoreDNS, for the tests of the DNS part. Without CoreDNS these tests are skipped, and fail with REQUIRE_INTEROP=1.
# --------------------

if sets_up test && ! scripts/coredns.sh --look >/dev/null; then
  say 'building CoreDNS'
  scripts/coredns.sh >/dev/null || say 'Cannot build CoreDNS (Go and its module proxy are needed)'
fi

# Packages of a node's network services, which tests unpack in a machine of their own. Skipped as CoreDNS is. --------------

if sets_up test && ! scripts/node-packages.sh --look >/dev/null; then
  say 'downloading the packages of a node'
  scripts/node-packages.sh >/dev/null || say 'Cannot download the packages of a node (Debian and apt-get are needed)'
fi

# Builds: outdated if a source, or a folder that has lost a source, is newer than the last build. --------------------

stale() { # stale STAMP SOURCE...
  built=$1
  shift
  [ ! -e "$built" ] || [ -n "$(find "$@" -newer "$built" -print 2>/dev/null | head -n 1)" ]
}

if stale dist/.built src scripts tsconfig.json tsconfig.build.json package.json; then
  say 'npm run build'
  mkdir -p dist
  touch dist/.building
  npm run --silent build </dev/null >&2 || fail 'npm run build failed'
  mv dist/.building dist/.built
fi
