#!/bin/sh
# Installs holdfast from an unpacked tarball as a systemd service, upgrades it, and removes it. This script decides the
# places of the files. Files of the operator are never overwritten or removed unasked. An upgrade that cannot run
# changes nothing: the new program checks the configuration first, and the old one stays until the new one runs.
set -eu

usage() {
  cat <<'USAGE'
usage: install.sh [--prefix DIR] [--root DIR] [--no-start | --restart]      install, or upgrade what is there
       install.sh --uninstall [--purge] [--prefix DIR] [--root DIR]
  --prefix DIR  where holdfast lies (default: where the installed unit has it, otherwise /opt/holdfast)
  --root DIR    into the tree of an image: no user is made, no service started
  --no-start    install only
  --restart     restart the service, also where an upgrade in place is possible (holdfast upgrade)
  --uninstall   stop it (no probe is lost where another node can take over), remove all but /etc/holdfast and /var/lib/holdfast
  --purge       with --uninstall: those two, drop-ins and the user as well
exit status: 0, 1 failed, 64 wrong command line, 77 not root
USAGE
}
fail() { echo "install.sh: $1" >&2; exit "${2:-1}"; }
say() { echo "$1"; }

prefix='' root='' start=yes restart='' uninstall='' purge=''
while [ $# -gt 0 ]; do
  case $1 in
    --prefix | --root)
      [ $# -gt 1 ] || fail "$1 needs a folder" 64
      if [ "$1" = --prefix ]; then prefix=$2; else root=${2%/}; fi
      shift
      ;;
    --prefix=*) prefix=${1#*=} ;;
    --root=*) root=${1#*=} root=${root%/} ;;
    --no-start) start='' ;;
    --restart) restart=yes ;;
    --uninstall) uninstall=yes ;;
    --purge) purge=yes ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 64 ;;
  esac
  shift
done
unit=$root/etc/systemd/system/holdfast.service
resign=$root/etc/systemd/system/holdfast-resign.service
# An upgrade, and an --uninstall, use the installed place.
prefix_in() { sed -n 's|^ExecStart=\(/[^ ]*\)/bin/holdfast .*|\1|p' "$1" 2>/dev/null | head -n 1; }
if [ -z "$prefix" ]; then
  prefix=$(prefix_in "$unit")
  prefix=${prefix:-/opt/holdfast}
fi
case $prefix in
  /*[!/]*) prefix=${prefix%/} ;;
  *) fail "--prefix must be an absolute path below /: $prefix" 64 ;;
esac
case $prefix in *[!A-Za-z0-9/._-]*) fail "--prefix may have letters, digits, and / . _ -: $prefix" 64 ;; esac
[ -z "$purge" ] || [ -n "$uninstall" ] || fail '--purge goes with --uninstall' 64
[ "$(id -u)" = 0 ] || fail 'Cannot install: not root' 77

command=$root/usr/local/bin/holdfast
etc=$root/etc/holdfast
# A manager runs, and it is the one of this tree.
managed=''
[ -n "$root" ] || ! systemctl show --property=Version >/dev/null 2>&1 || managed=yes

if [ -n "$uninstall" ]; then
  [ -z "$managed" ] || [ ! -e "$unit" ] || systemctl disable --now holdfast.service || fail 'Cannot stop holdfast.service'
  [ -z "$managed" ] || [ ! -e "$resign" ] || systemctl stop holdfast-resign.service
  rm -f "$unit" "$unit.old" "$resign"
  [ "$(readlink "$command" 2>/dev/null)" != "$prefix/bin/holdfast" ] || rm -f "$command"
  # Only what is ours: a prefix may have been given by mistake.
  for tree in "$root$prefix" "$root$prefix.new" "$root$prefix.old"; do
    [ ! -e "$tree/bin/holdfast" ] || rm -rf "$tree"
  done
  if [ -n "$purge" ]; then
    rm -rf "$etc" "$unit.d" "$root/var/lib/holdfast"
    [ -n "$root" ] || ! id holdfast >/dev/null 2>&1 || userdel holdfast || fail 'Cannot remove the user holdfast'
  fi
  [ -z "$managed" ] || systemctl daemon-reload
  if [ -n "$purge" ]; then say 'holdfast is removed, with its configuration'; else say "holdfast is removed; its configuration stays in $etc"; fi
  exit 0
fi

source=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
[ -f "$source/dist/bundle/main.js" ] || source=$(dirname "$(dirname "$source")")
[ -f "$source/dist/bundle/main.js" ] || fail "Cannot install from $source: no holdfast there (is this the unpacked tarball?)"
[ "$source" != "$root$prefix" ] || fail "Cannot install $source over itself: run it from the unpacked tarball"
[ ! -e "$root$prefix" ] || [ -e "$root$prefix/bin/holdfast" ] || fail "Cannot install into $root$prefix: something else is there"

if [ -z "$root" ]; then
  id holdfast >/dev/null 2>&1 ||
    useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin holdfast ||
    fail 'Cannot make the user holdfast'
fi

# Writes a unit file of the tree at this prefix.
write_unit() {
  sed "s|/opt/holdfast/|$1/|g" "$root$1/deploy/systemd/${2##*/}" >"$2.new"
  mv "$2.new" "$2"
}
# Puts the version before this one back: tree, command and unit files. After an interruption, the next call completes it.
put_back() {
  if [ -e "$root$prefix.old" ]; then
    [ ! -e "$root$prefix" ] || mv "$root$prefix" "$root$prefix.new"
    mv "$root$prefix.old" "$root$prefix"
    rm -rf "$root$prefix.new"
  fi
  if [ -e "$unit.old" ]; then
    # The old unit may name another prefix, which is as it was.
    was=$(prefix_in "$unit.old")
    was=${was:-$prefix}
    ln -sfn "$was/bin/holdfast" "$command"
    if [ -e "$root$was/deploy/systemd/${resign##*/}" ]; then write_unit "$was" "$resign"; else rm -f "$resign"; fi
    mv "$unit.old" "$unit"
  fi
  [ -z "$managed" ] || systemctl daemon-reload
}
# Removes that version. Its tree loses its name first, so no part of it is ever put back.
forget_old() {
  [ ! -e "$root$prefix.old" ] || mv "$root$prefix.old" "$root$prefix.new"
  rm -f "$unit.old"
  rm -rf "$root$prefix.new"
}
# Beside it, then swapped: what runs has its files open, and what starts meanwhile finds one of the two.
for tree in "$root$prefix.new" "$root$prefix.old"; do
  # A tree of another program stays.
  rmdir "$tree" 2>/dev/null || [ ! -e "$tree" ] || [ -e "$tree/bin/holdfast" ] || fail "Cannot install beside $tree: something else is there"
done
mkdir -p "$root/usr/local/bin" "$etc" "$root/etc/systemd/system"
# After an interrupted installation, the only version that has run may be in .old.
rm -rf "$root$prefix.new"
if [ -e "$root$prefix.old" ] || [ -e "$unit.old" ]; then
  put_back
  say 'An installation before this one was interrupted: the version before it is back'
fi
mkdir -p "$root$prefix.new"
for part in bin bench deploy dist docker-compose.yml docs native node_modules runtime package.json CHANGELOG.md README.md; do
  [ ! -e "$source/$part" ] || cp -R "$source/$part" "$root$prefix.new/"
done
chmod -R u=rwX,go=rX "$root$prefix.new"
chown -R 0:0 "$root$prefix.new"
# The package has no code cache, because no two are alike. Without it the engine starts more slowly (docs/adr/0038).
node=$root$prefix.new/runtime/node
[ -x "$node" ] || node=node
"$node" "$root$prefix.new/dist/bundle/warm-up.js" || say "Cannot make the code cache: the engine starts more slowly"
# With --node the native addon is loaded and the node is looked at, as at a start. An example stands for a configuration that is not there yet.
if [ -z "$root" ] && [ -e "$etc/holdfast.yaml" ]; then
  judged=$etc/holdfast.yaml
  refused="this version refuses $judged, for the reasons above"
else
  judged=$root$prefix.new/deploy/systemd/holdfast.yaml.example
  refused="$source/bin/holdfast does not run here, for the reasons above"
fi
"$root$prefix.new/bin/holdfast" check --node "$judged" >"$root$prefix.new/check" 2>&1 || {
  cat "$root$prefix.new/check" >&2
  rm -rf "$root$prefix.new"
  fail "Cannot install: $refused. Nothing was changed"
}
rm -f "$root$prefix.new/check"
[ ! -e "$unit" ] || { cp -p "$unit" "$unit.new" && mv "$unit.new" "$unit.old"; }
[ ! -e "$root$prefix" ] || mv "$root$prefix" "$root$prefix.old"
mv "$root$prefix.new" "$root$prefix"
ln -sfn "$prefix/bin/holdfast" "$command"
write_unit "$prefix" "$unit"
write_unit "$prefix" "$resign"
[ -e "$etc/holdfast.yaml.example" ] && rm -f "$etc/holdfast.yaml.example"
cp "$root$prefix/deploy/systemd/holdfast.yaml.example" "$etc/"
chmod 755 "$etc"
installed="holdfast $("$root$prefix/bin/holdfast" --version) is in $root$prefix"
[ -n "$managed" ] || { forget_old; say "$installed"; say 'No systemd runs here (or --root was given): nothing started'; exit 0; }
systemctl daemon-reload
if [ ! -e "$etc/holdfast.yaml" ]; then
  say "$installed"
  say "Next: cp $etc/holdfast.yaml.example $etc/holdfast.yaml, edit it, holdfast check $etc/holdfast.yaml, systemctl enable --now holdfast"
elif [ -n "$start" ]; then
  systemctl enable holdfast.service 2>/dev/null || fail 'Cannot enable holdfast.service'
  # The engine that runs has been started from this prefix, so its guardian can start the new program (docs/adr/0096).
  if [ -z "$restart" ] && [ -e "$prefix.old" ] && systemctl is-active --quiet holdfast.service; then
    status=0
    "$prefix/bin/holdfast" upgrade || status=$?
    if [ "$status" = 70 ]; then
      put_back
      fail "The new holdfast fails its dry run, for the reasons above: the old one is back and runs on"
    fi
    # 2: the new engine runs, but an address has moved. A restart would move the addresses again.
    if [ "$status" = 0 ] || [ "$status" = 2 ]; then
      forget_old
      say "$installed"
      say 'The guardian and the unit file of this version are in force after the next: systemctl restart holdfast'
      exit 0
    fi
    say 'Restarting the service instead: the addresses move'
  fi
  # A restart hands the addresses over and takes them back as the priorities say.
  if ! systemctl restart holdfast.service; then
    [ -e "$unit.old" ] || fail 'holdfast does not start: journalctl -u holdfast says why'
    put_back
    systemctl restart holdfast.service || fail 'Neither the new nor the old holdfast starts: journalctl -u holdfast says why'
    fail "The new holdfast does not start (journalctl -u holdfast says why): the old one is back and runs"
  fi
  say "$installed"
  say 'holdfast runs: holdfast status'
else
  say "$installed"
fi
forget_old
