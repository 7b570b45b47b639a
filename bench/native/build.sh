#!/bin/sh
# Compiles the measuring programs of the benchmark: bench/native/build.sh OUTPUT. This script decides the compiler and
# its flags. The benchmark runs this script at its start. The unit tests of the benchmark need no compiled program.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
shared=$here/../../native/common
mkdir -p "$(dirname -- "$1")"
# The compiler writes a file of another name, which is then moved into place, so that a running program keeps its
# executable.
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
  -I"$shared" -o "$1.$$" "$here"/gauge.c "$here"/journal.c "$here"/respond.c "$here"/probe.c "$here"/ask.c \
  "$shared"/instrument.c "$shared"/who-has.c
mv -f "$1.$$" "$1"
