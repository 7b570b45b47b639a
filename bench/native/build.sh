#!/bin/sh
# Compiles the gauge: bench/native/build.sh OUTPUT. Decided here: compiler and flags. The benchmark calls it at its
# start. The tests of its arithmetic do not need it.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
shared=$here/../../native/common
mkdir -p "$(dirname -- "$1")"
# Built under another name and moved into place, so that a running gauge keeps its file.
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
  -I"$shared" -o "$1.$$" "$here"/gauge.c "$here"/journal.c "$here"/respond.c "$here"/probe.c "$here"/ask.c \
  "$shared"/instrument.c "$shared"/who-has.c
mv -f "$1.$$" "$1"
