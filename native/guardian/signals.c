/* SPDX-License-Identifier: Apache-2.0 */
/* See signals.h. */
#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "now.h"
#include "log.h"
#include "process.h"
#include "restart.h"

#define HOLD_MS 60000 /* for an engine that never becomes ready; a node that boots may need that long to start one */

bool block_signals(sigset_t *blocked, sigset_t *before) {
  static const int numbers[] = {SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGCHLD};
  sigemptyset(blocked);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(blocked, numbers[i]);
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++) sigaddset(blocked, number);
  return sigprocmask(SIG_BLOCK, blocked, before) == 0;
}

static void forward_signal(const struct engine *engine, int number) {
  if (engine->pid > 0 && kill(engine->pid, number) != 0 && errno != ESRCH)
    log_message(LOG_WARN, "signalNotForwarded", "cannot forward a signal", "kill", errno);
}

static void forward_or_hold(struct engine *engine, int number) {
  if (number == SIGTERM || number == SIGINT) {
    engine->stopping = true;
    end_restart(engine, "stopped before the engine has returned");
  }
  if (engine->pid <= 0 && !engine->waits) return;
  if (number == SIGTERM || number == SIGINT || engine->ready) return forward_signal(engine, number);
  engine->held |= UINT64_C(1) << number;
  if (engine->hold_until == 0) engine->hold_until = now_ns() + HOLD_MS * NS_PER_MS;
}

void release_held_signals(struct engine *engine) {
  if (engine->held == 0 || engine->pid <= 0 || (!engine->ready && now_ns() < engine->hold_until)) return;
  for (int number = 1; number < 64; number++)
    if ((engine->held & (UINT64_C(1) << number)) != 0) forward_signal(engine, number);
  engine->held = 0;
  engine->hold_until = 0;
}

static void handle_signal(const struct signalfd_siginfo *info, struct engine *engine) {
  const int number = (int)info->ssi_signo;
  if (number == SIGCHLD) return reap_children(engine);
  /* Ctrl-C on a terminal goes to the whole foreground group, so the engine has received it already. */
  if (number == SIGINT && info->ssi_code == SI_KERNEL) return;
  /* Tools send real-time signals as questions to other daemons. A question must not end this one. */
  if (number >= SIGRTMIN) return log_message(LOG_WARN, "signalIgnored", "ignored a real-time signal", NULL, 0);
  forward_or_hold(engine, number);
}

void handle_signals(int fd, struct engine *engine) {
  struct signalfd_siginfo info;
  for (;;) {
    const ssize_t length = read(fd, &info, sizeof info);
    if (length < 0 && errno == EINTR) continue;
    if (length != (ssize_t)sizeof info) return;
    handle_signal(&info, engine);
  }
}
