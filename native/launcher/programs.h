/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that the command line names. The launcher can run no other. */
#ifndef LAUNCHER_PROGRAMS_H
#define LAUNCHER_PROGRAMS_H

#include <stdbool.h>

#define MOST_PROGRAMS 16u

struct program {
  char **words; /* the last is NULL */
  char *number; /* text of its last argument; NULL = it takes no number */
};

extern struct program programs[MOST_PROGRAMS];
extern unsigned program_count;

/* Reads "{--program | --numbered} COUNT PROGRAM [ARGUMENT]..." from `at` on. Returns false for wrong usage. */
bool read_programs(int count, char **arguments, int at);

/* Sets the last argument of every --numbered program. */
void set_number(unsigned char number);

#endif
