#!/bin/sh
# Compiles the gauge: bench/native/build.sh OUTPUT. Decided here: compiler and flags. The benchmark calls it when it starts;
# the tests of its arithmetic do not need it.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
shared=$here/../../native/common
mkdir -p "$(dirname -- "$1")"
# Built aside and moved into place: one that runs at the moment keeps its file.
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
  -I"$shared" -o "$1.$$" "$here"/gauge.c "$here"/journal.c "$here"/respond.c "$here"/probe.c "$here"/ask.c \
  "$shared"/instrument.c "$shared"/who-has.c
mv -f "$1.$$" "$1"
