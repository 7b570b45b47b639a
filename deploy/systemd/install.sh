#!/bin/sh
# Installs holdfast out of an unpacked tarball as a systemd service, takes an upgrade, and takes all of it away again.
# Decided here: where things lie, and that nothing of the operator's is ever overwritten or removed unasked.
set -eu

usage() {
  cat <<'USAGE'
usage: install.sh [--prefix DIR] [--root DIR] [--no-start]      install, or upgrade what is there
       install.sh --uninstall [--purge] [--prefix DIR] [--root DIR]
  --prefix DIR  where holdfast lies (default: /opt/holdfast)
  --root DIR    into the tree of an image: no user is made, no service started
  --no-start    install only
  --uninstall   stop it (no probe is lost where another node can take over), remove all but /etc/holdfast
  --purge       with --uninstall: /etc/holdfast, drop-ins and the user as well
exit status: 0, 1 failed, 64 wrong command line, 77 not root
USAGE
}
fail() { echo "install.sh: $1" >&2; exit "${2:-1}"; }
say() { echo "$1"; }

prefix=/opt/holdfast root='' start=yes uninstall='' purge=''
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
    --uninstall) uninstall=yes ;;
    --purge) purge=yes ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 64 ;;
  esac
  shift
done
case $prefix in
  /*[!/]*) prefix=${prefix%/} ;;
  *) fail "--prefix must be an absolute path below /: $prefix" 64 ;;
esac
case $prefix in *[!A-Za-z0-9/._-]*) fail "--prefix may have letters, digits, and / . _ -: $prefix" 64 ;; esac
[ -z "$purge" ] || [ -n "$uninstall" ] || fail '--purge goes with --uninstall' 64
[ "$(id -u)" = 0 ] || fail 'Cannot install: not root' 77

unit=$root/etc/systemd/system/holdfast.service
command=$root/usr/local/bin/holdfast
etc=$root/etc/holdfast
# A manager runs, and it is the one of this tree.
managed=''
[ -n "$root" ] || ! systemctl show --property=Version >/dev/null 2>&1 || managed=yes

if [ -n "$uninstall" ]; then
  [ -z "$managed" ] || [ ! -e "$unit" ] || systemctl disable --now holdfast.service || fail 'Cannot stop holdfast.service'
  rm -f "$unit"
  [ "$(readlink "$command" 2>/dev/null)" != "$prefix/bin/holdfast" ] || rm -f "$command"
  # Only what is ours: a prefix may have been given by mistake.
  [ ! -e "$root$prefix/bin/holdfast" ] || rm -rf "$root$prefix"
  rm -rf "$root$prefix.new" "$root$prefix.old"
  if [ -n "$purge" ]; then
    rm -rf "$etc" "$unit.d"
    [ -n "$root" ] || ! id holdfast >/dev/null 2>&1 || userdel holdfast || fail 'Cannot remove the user holdfast'
  fi
  [ -z "$managed" ] || systemctl daemon-reload
  say "holdfast is removed${purge:+, with its configuration}${purge:-; its configuration stays in $etc}"
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

# Beside it, then swapped: what runs has its files open, and what starts meanwhile finds one of the two.
rm -rf "$root$prefix.new" "$root$prefix.old"
mkdir -p "$root$prefix.new" "$root/usr/local/bin" "$etc" "$root/etc/systemd/system"
for part in bin deploy dist docs native node_modules runtime package.json CHANGELOG.md README.md; do
  [ ! -e "$source/$part" ] || cp -R "$source/$part" "$root$prefix.new/"
done
chmod -R u=rwX,go=rX "$root$prefix.new"
chown -R 0:0 "$root$prefix.new"
"$root$prefix.new/bin/holdfast" --version >/dev/null || fail "Cannot run $source/bin/holdfast here: the line before says why"
[ ! -e "$root$prefix" ] || mv "$root$prefix" "$root$prefix.old"
mv "$root$prefix.new" "$root$prefix"
rm -rf "$root$prefix.old"
ln -sfn "$prefix/bin/holdfast" "$command"
sed "s|/opt/holdfast/|$prefix/|g" "$root$prefix/deploy/systemd/holdfast.service" >"$unit.new"
mv "$unit.new" "$unit"
[ -e "$etc/holdfast.yaml.example" ] && rm -f "$etc/holdfast.yaml.example"
cp "$root$prefix/deploy/systemd/holdfast.yaml.example" "$etc/"
chmod 755 "$etc"
say "holdfast $("$root$prefix/bin/holdfast" --version) is in $root$prefix"

[ -n "$managed" ] || { say 'No systemd runs here (or --root was given): nothing started'; exit 0; }
systemctl daemon-reload
if [ ! -e "$etc/holdfast.yaml" ]; then
  say "Next: cp $etc/holdfast.yaml.example $etc/holdfast.yaml, edit it, holdfast check $etc/holdfast.yaml, systemctl enable --now holdfast"
elif [ -n "$start" ]; then
  systemctl enable holdfast.service 2>/dev/null || fail 'Cannot enable holdfast.service'
  # An upgrade hands the addresses over and takes them back as the priorities say.
  systemctl restart holdfast.service || fail 'holdfast does not start: journalctl -u holdfast says why'
  say 'holdfast runs: holdfast status'
fi
