/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast-probe: shows what a client on the LAN sees. holdfast-probe has a UDP responder, a UDP prober and an observer
 * of ARP and Neighbor Discovery, for the demo and the tests; the daemon never runs it. This file reads the command
 * line. prober.c and arp.c decide what counts as lost, as a gap or as two holders. This file does not know VRRP, nor
 * which node should have the address.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

static const char usage_text[] =
    "usage: holdfast-probe respond NAME PORT [--bind ADDRESS] [--fifo]\n"
    "         answers each UDP datagram from the address it was sent to: \"<first word of it> NAME\"\n"
    "       holdfast-probe probe ADDRESS PORT [--interval-us 1000] [--duration-ms N] [--fifo]\n"
    "         one UDP probe per interval, until the duration is over or SIGTERM or SIGINT comes.\n"
    "         JSON lines: start, holder (the answering NAME changed), gap, stall (the prober itself was late), duplicate\n"
    "         (two names answered one probe), summary. --fifo: SCHED_FIFO, where it is permitted\n"
    "       holdfast-probe arp INTERFACE ADDRESS [--interval-ms 10] [--duration-ms N] [--fifo]\n"
    "         asks which hosts have the ADDRESS, by ARP or Neighbor Discovery. JSON lines: start, claim (the set of MACs\n"
    "         that answered one question changed), announce (a gratuitous ARP, an unsolicited advertisement), summary\n"
    "Times are CLOCK_MONOTONIC in milliseconds. Exit status: 0, 1 for a failure, 64 for wrong usage.\n";

void wrong_usage(void) {
  fputs(usage_text, stderr);
  exit(EXIT_USAGE);
}

double to_ms(nanos time) {
  return (double)time / 1e6;
}

void print_line(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vprintf(format, arguments);
  va_end(arguments);
  if (written < 0 || putchar('\n') == EOF || fflush(stdout) != 0) exit(EXIT_FAILURE);
}

void request_fifo(void) {
  if (!set_fifo(10)) fprintf(stderr, "holdfast-probe: no SCHED_FIFO (%s), continuing without it\n", strerror(errno));
}

bool is_plain_name(const char *name, size_t length) {
  if (length == 0 || length > NAME_MAX_LENGTH) return false;
  for (size_t i = 0; i < length; i++)
    if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\') return false;
  return true;
}

static void read_value(struct options *options, const char *word, const char *value) {
  if (strcmp(word, "--bind") == 0)
    options->bind = value;
  else if (strcmp(word, "--interval-us") == 0)
    options->interval_us = read_number(value, 50, 60000000);
  else if (strcmp(word, "--interval-ms") == 0)
    options->interval_us = 1000 * read_number(value, 1, 60000);
  else if (strcmp(word, "--duration-ms") == 0)
    options->duration_ms = read_number(value, 1, 1000000000);
  else
    wrong_usage();
}

static struct options read_options(int count, char **arguments) {
  struct options options;
  memset(&options, 0, sizeof options);
  for (int i = 1; i < count; i++) {
    const char *const word = arguments[i];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(usage_text, stdout);
      exit(EXIT_SUCCESS);
    }
    if (strncmp(word, "--", 2) != 0) {
      if (options.count == 3) wrong_usage();
      options.words[options.count++] = word;
    } else if (strcmp(word, "--fifo") == 0) {
      options.fifo = true;
    } else {
      if (i + 1 >= count) wrong_usage();
      read_value(&options, word, arguments[++i]);
    }
  }
  return options;
}

int main(int count, char **arguments) {
  const struct options options = read_options(count, arguments);
  if (options.count == 0) wrong_usage();
  if (strcmp(options.words[0], "respond") == 0) return run_respond(&options);
  if (strcmp(options.words[0], "probe") == 0) return run_probe(&options);
  if (strcmp(options.words[0], "arp") == 0) return run_arp(&options);
  wrong_usage();
}
