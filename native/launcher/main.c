/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the programs of one health check, or of one virtual router's notifications, one at a time, as one user. Decided
 * here: which privileges the launcher drops before the first run (all, unless --keep, ADR 0026). Only its command line
 * names programs: an order of the daemon chooses one of them, and a number to append. This file does not know when a
 * run is due, how long it may take, and what its result means.
 *
 *   holdfast-launcher [--user UID:GID] [--spare] [--keep] {--program | --numbered} COUNT PROGRAM [ARGUMENT]... ...
 *
 * COUNT is the number of arguments that follow, with the program's path. The last argument of a --numbered program is
 * the number that was set last. --keep applies to the launcher's own user and to root; a launcher that becomes another
 * user keeps nothing. After a run of --spare has left a survivor, the launcher takes no more orders, so that it does
 * not kill the survivor later: the daemon starts another launcher. A program gets the launcher's environment, /dev/null
 * as input and a session of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "channel.h"
#include "privileges.h"
#include "programs.h"
#include "run.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define EXIT_USAGE 64
#define LEAVING_LOOK_MS 10

struct options {
  const char *user; /* NULL = stays as it is */
  bool keeps_privileges;
};

/* Reads the options. Returns false for wrong usage. */
static bool read_options(int count, char **arguments, struct options *options) {
  int at = 1;
  if (at + 1 < count && strcmp(arguments[at], "--user") == 0) {
    options->user = arguments[at + 1];
    at += 2;
  }
  if (at < count && strcmp(arguments[at], "--spare") == 0) {
    run.spares_survivors = true;
    at++;
  }
  if (at < count && strcmp(arguments[at], "--keep") == 0) {
    options->keeps_privileges = true;
    at++;
  }
  return read_programs(count, arguments, at);
}

/*
 * Returns a signalfd, or -1 with errno. Signals that a service manager sends to every process of the service are meant
 * for the engine. Such signals must not end the launcher, which would orphan its programs.
 */
static int open_signals(void) {
  static const int numbers[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2};
  sigset_t mask;
  (void)sigemptyset(&mask);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) (void)sigaddset(&mask, numbers[i]);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || sigprocmask(SIG_BLOCK, &mask, NULL) != 0) return -1;
  return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void read_signals(int signals) {
  struct signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
    if (info.ssi_signo == SIGTERM) leaving = true;
}

static void serve(int signals) {
  while (!leaving || run.is_under_way) {
    struct pollfd watched[3] = {{signals, POLLIN, 0}, {run.output, POLLIN, 0}, {leaving ? -1 : CHANNEL, POLLIN, 0}};
    /* While leaving, the launcher kills repeatedly, because a fork may have been faster than the list of children. */
    if (poll(watched, 3, leaving ? LEAVING_LOOK_MS : -1) < 0 && errno != EINTR) return;
    read_signals(signals);
    if (watched[1].revents != 0 && run.output >= 0) read_output();
    reap_run();
    if (run.has_survivor) return read_for_survivors();
    if (watched[2].revents != 0) read_orders();
    if (leaving) (void)kill_run();
  }
}

static int refuse(int number) {
  send_answer(REFUSED, number);
  return 1;
}

int main(int count, char **arguments) {
  struct options options = {NULL, false};
  if (!read_options(count, arguments, &options) || fcntl(CHANNEL, F_SETFD, FD_CLOEXEC) != 0) {
    (void)fprintf(stderr, "usage: holdfast-launcher [--user UID:GID] [--spare] [--keep] {--program | --numbered} COUNT "
                          "PROGRAM [ARGUMENT]... ..., a channel as descriptor 3\n");
    return EXIT_USAGE;
  }
  (void)syscall(SYS_close_range, CHANNEL + 1, ~0u, 0);
  (void)signal(SIGPIPE, SIG_IGN);
  const int refused = change_privileges(options.user, options.keeps_privileges);
  if (refused != 0) return refuse(refused);
  /* The program may run as the same user: it must not read the launcher's memory. */
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const int signals = open_signals();
  if (signals < 0) return refuse(errno);
  send_answer(READY, 0);
  serve(signals);
  return 0;
}
