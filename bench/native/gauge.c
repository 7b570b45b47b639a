/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gauge of the benchmark: a service, a client that probes it, and an observer that asks which hosts have an
 * address. They only record what they see and when. client-record.ts and observer-record.ts in bench/failover decide
 * what it means. Decided here: SCHED_FIFO if it is permitted. Does not know VRRP. Compiled when the benchmark starts
 * (bench/failover/gauge.ts). It is no part of the product, but uses native/common/instrument.c and who-has.c.
 */
#include "gauge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static const char usage_text[] =
    "usage: gauge respond NUMBER PORT\n"
    "       gauge probe ADDRESS PORT INTERVAL-US [INTERFACE]   with it: no neighbour entry before any probe\n"
    "       gauge ask INTERFACE ADDRESS INTERVAL-US\n"
    "Records (gauge.h) on standard output until SIGTERM or SIGINT.\n";

void wrong_usage(void) {
  fputs(usage_text, stderr);
  exit(EXIT_USAGE);
}

/*
 * Sets a priority above the daemons that ask for real-time priority. Without it the kernel may be 50 µs late on
 * purpose. With it, no page has to be loaded between two probes.
 */
bool stay_awake(void) {
  (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  (void)mlockall(MCL_CURRENT | MCL_FUTURE);
  return set_fifo(60);
}

static nanos interval_of(const char *text) { return (nanos)read_number(text, 50, 60000000) * 1000; }

int main(int count, char **words) {
  if (count < 4) wrong_usage();
  open_journal();
  if (strcmp(words[1], "respond") == 0 && count == 4) return respond((uint32_t)read_number(words[2], 0, 255), words[3]);
  if (strcmp(words[1], "probe") == 0 && (count == 5 || count == 6))
    return probe(words[2], words[3], interval_of(words[4]), count == 6 ? words[5] : NULL);
  if (strcmp(words[1], "ask") == 0 && count == 5) return ask(words[2], words[3], interval_of(words[4]));
  wrong_usage();
}
