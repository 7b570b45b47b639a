/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that the commands of holdfast-probe share: their options, and their JSON lines. */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "../common/instrument.h"

#define NAME_MAX_LENGTH 63

struct options {
  const char *words[3];
  int count;
  const char *bind;
  long interval_us;
  long duration_ms; /* 0 = until a signal */
  bool fifo;
};

/* Run one command each. Return the exit status. */
int run_respond(const struct options *options);
int run_probe(const struct options *options);
int run_arp(const struct options *options);

double to_ms(nanos time);

/* Ends the line of standard output. A closed output ends the program. */
void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Asks for SCHED_FIFO. Without permission it prints a line to standard error, and the program continues. */
void request_fifo(void);

/* Returns true for a name that another program may put into its JSON. */
bool is_plain_name(const char *name, size_t length);

#endif
