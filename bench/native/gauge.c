/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Main program of the benchmark's measuring programs (the gauge): a service, a client that probes it, and an observer
 * that asks which hosts have an address. The measuring programs only record what they receive, and when.
 * client-record.ts and observer-record.ts in bench/failover interpret the records. This file decides that the programs
 * use SCHED_FIFO if the kernel permits it. This file does not know VRRP. The benchmark compiles the programs at its
 * start (bench/failover/gauge.ts). The measuring programs are not part of the product, but use
 * native/common/instrument.c and who-has.c.
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
 * Sets a real-time priority above that of the measured daemons, and locks the memory. Without real-time priority, the
 * kernel may delay a timer by 50 µs on purpose. With locked memory, no page has to be loaded between two probes.
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
