/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

#define REALTIME_DEFAULT 20

static void print_usage(FILE *out) {
  (void)fputs("usage: holdfast-guardian [--realtime[=PRIORITY]] [--core] [--name=NAME] [--background] [--] PROGRAM "
              "[ARGUMENT...]\n"
              "Runs PROGRAM (the engine), forwards HUP TERM INT USR1 USR2, exits with its status (128 + signal if a\n"
              "signal ended it), and executes the cleanup plans that it sent over the descriptor in\n" CHANNEL_VARIABLE
              ".\n"
              "  --realtime[=PRIORITY]  SCHED_RR for its main thread (1 to 99, default 20), one more for the guardian\n"
              "  --core                 allow it a core dump (which delays the notice of its death)\n"
              "  --name=NAME            name of the guardian in the list of processes\n"
              "  --background           leave the terminal; the process that was started ends once the engine runs\n",
              out);
}

static void reject_usage(void) {
  print_usage(stderr);
  exit(EXIT_USAGE);
}

/* Returns the priority of --realtime=PRIORITY; 0 for any other argument. */
static int read_priority(const char *word) {
  static const char prefix[] = "--realtime=";
  const size_t length = sizeof prefix - 1;
  if (strncmp(word, prefix, length) != 0) return 0;
  char *end = NULL;
  const long priority = strtol(word + length, &end, 10);
  return *end != '\0' || end == word + length || priority < 1 || priority > REALTIME_MAX ? 0 : (int)priority;
}

static void read_option(struct options *options, const char *word) {
  if (strcmp(word, "--help") == 0) {
    print_usage(stdout);
    exit(EXIT_SUCCESS);
  }
  if (strcmp(word, "--core") == 0) {
    options->core = true;
  } else if (strcmp(word, "--background") == 0) {
    options->background = true;
  } else if (strncmp(word, "--name=", 7) == 0 && word[7] != '\0') {
    options->name = word + 7;
  } else if (strcmp(word, "--realtime") == 0) {
    options->realtime = REALTIME_DEFAULT;
  } else {
    options->realtime = read_priority(word);
    if (options->realtime == 0) reject_usage();
  }
}

struct options read_options(int count, char **arguments) {
  struct options options = {0, false, false, NULL, NULL};
  int i = 1;
  for (; i < count && strncmp(arguments[i], "--", 2) == 0; i++) {
    if (strcmp(arguments[i], "--") == 0) {
      i++;
      break;
    }
    read_option(&options, arguments[i]);
  }
  if (i >= count) reject_usage();
  options.program = arguments + i;
  return options;
}
