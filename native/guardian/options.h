/* SPDX-License-Identifier: Apache-2.0 */
/* The guardian's command line. */
#ifndef GUARDIAN_OPTIONS_H
#define GUARDIAN_OPTIONS_H

#include <stdbool.h>

#define EXIT_USAGE 64
#define REALTIME_MAX 99

struct options {
  int realtime; /* priority; 0 = none */
  bool core;
  bool background;
  const char *name; /* NULL = unchanged */
  char **program;
};

/* Ends the process after --help and after wrong usage. */
struct options read_options(int count, char **arguments);

#endif
