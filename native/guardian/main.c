/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guardian: parent of the engine, and PID 1 of a container. The guardian executes the engine's cleanup plans, and
 * only the guardian renews the lifetime of the engine's addresses. This file decides the order of the start, and which
 * events the guardian waits for. The jobs of the guardian have these files:
 *
 *   message.h   format of the engine's messages        process, background, options   start and end of the engine
 *   channel     reads them                             signals     forwards or holds them
 *   plan        keeps the cleanup plans                manager     READY=1 and WATCHDOG=1 (sd_notify(3))
 *   words       memory shared with the engine          heartbeat   signs of life of both sides
 *   absence     decides when plans are executed        log, log-text, now
 *   execute, netlink, packet   execute them            renew       renews lifetimes
 *   restart     starts the engine again after a crash
 *   upgrade     replaces the engine by another version
 *   confine/    which system calls remain, and a process that starts the engine again
 *   clock/      a second thread, which sends frames at their times; clock/thread.h begins its list
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "absence.h"
#include "background.h"
#include "channel.h"
#include "clock/mail.h"
#include "clock/thread.h"
#include "clock/units.h"
#include "confine/filter.h"
#include "confine/starter.h"
#include "now.h"
#include "execute.h"
#include "heartbeat.h"
#include "log.h"
#include "manager.h"
#include "options.h"
#include "process.h"
#include "renew.h"
#include "restart.h"
#include "signals.h"
#include "upgrade.h"
#include "words.h"

/* Returns the time of the next duty that no event announces; UINT64_MAX = never. */
static uint64_t wake_up_at(const struct engine *engine, uint64_t now) {
  uint64_t duty = words != NULL && !engine->gone ? next_duty_at(now) : UINT64_MAX;
  if (restart_ends_at(engine) < duty) duty = restart_ends_at(engine);
  if (rehearsal_ends_at() < duty) duty = rehearsal_ends_at();
  if (duty != UINT64_MAX && next_feed_at(now) < duty) duty = next_feed_at(now);
  return engine->held != 0 && engine->hold_until < duty ? engine->hold_until : duty;
}

/* Does what is due: deadlines, renewals and heartbeats. */
static void do_duties(struct engine *engine) {
  enforce_deadlines(engine);
  repeat_packets();
  free_returned_orders();
  const uint64_t now = now_ns();
  if (!engine->gone) renew_addresses(now);
  lend_time(engine, now);
  publish_beat(now);
  feed_watchdog(engine, now);
  wake_engine_after_suspend(engine);
}

/* Reports that the engine is ready. If the engine is gone, its exit status is reported instead. */
static void report_ready(const struct engine *engine) {
  if (!engine->ready || engine->gone) return;
  report_start(EXIT_SUCCESS);
  if (manager_wants_ready()) notify_ready();
}

/* Waits for the next event and handles it. Returns false if it cannot wait. */
static bool turn(const struct options *options, struct engine *engine, int signals) {
  enum { PROCESS, CHANNEL, SIGNALS, CLOCK, REPORT, SLOTS };
  struct pollfd watched[SLOTS];
  memset(watched, 0, sizeof watched);
  watched[PROCESS].fd = engine->gone || engine->channel < 0 ? -1 : engine->pidfd;
  watched[CHANNEL].fd = engine->channel;
  watched[SIGNALS].fd = signals;
  watched[CLOCK].fd = executor_wake_fd;
  watched[REPORT].fd = engine->report;
  for (int i = 0; i < SLOTS; i++) watched[i].events = POLLIN;
  const bool guards = words != NULL && !engine->gone;
  const uint64_t now = now_ns(), at = wake_up_at(engine, now), wait = at > now ? at - now : 0;
  const struct timespec limit = {.tv_sec = (time_t)(wait / NS_PER_S), .tv_nsec = (long)(wait % NS_PER_S)};
  if (ppoll(watched, SLOTS, at == UINT64_MAX ? NULL : &limit, NULL) < 0)
    return errno == EINTR || errno == EAGAIN || errno == ENOMEM;
  if (watched[REPORT].revents != 0) read_report(options, engine);
  if (watched[CLOCK].revents != 0) clear_wake_up(executor_wake_fd);
  if (watched[PROCESS].revents != 0) handle_engine_gone(engine);
  if (watched[CHANNEL].revents != 0 && engine->channel >= 0 &&
      read_channel(engine, MESSAGES_PER_TURN) == READ_CLOSED)
    handle_engine_gone(engine);
  if (watched[SIGNALS].revents != 0) handle_signals(signals, engine);
  follow_restart(engine);
  release_held_signals(engine);
  report_ready(engine);
  if (guards && !engine->gone) do_duties(engine);
  return true;
}

static int above(int priority, int steps) {
  return priority + steps < REALTIME_MAX ? priority + steps : REALTIME_MAX;
}

/*
 * Sets the priority of this thread, the executor, to one above the engine's. The engine must not keep the guardian from
 * the CPU, and no process that delays the engine may delay the guardian. Priority 0 must follow the removal of
 * addresses without a pause, and an engine whose guardian seems silent leaves.
 */
static void raise_priority(const struct options *options) {
  if (options->realtime == 0) return;
  set_realtime(above(options->realtime, 1), "no real-time priority for the guardian, continuing without it");
}

/* The guardian needs no new file, program or process from here on. Without the filter it does its work as well. */
static void confine(void) {
  const char *const failed = confine_executor();
  if (failed != NULL)
    log_message(LOG_WARN, "notConfined", "no seccomp filter for the guardian, continuing without it", failed, errno);
}

/* Opens everything that the guardian needs later. Returns the signalfd, or -1 after it has logged why. */
static int prepare(const struct options *options, char *first_argument, const sigset_t *blocked) {
  use_file_capabilities();
  if (options->background) go_to_background();
  open_log();
  open_manager();
  if (options->name != NULL) set_process_name(options->name, first_argument);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would swallow the exit status */
  const int signals = signalfd(-1, blocked, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) {
    log_message(LOG_ERROR, "engineNotStarted", "cannot start the engine", "signalfd", errno);
    return -1;
  }
  open_sockets();
  share_words();
  if (words != NULL) start_clock(options->realtime == 0 ? 0 : above(options->realtime, 2));
  if (words != NULL)
    publish_beat(now_ns());
  else if (manager_has_watchdog())
    log_message(LOG_WARN, "noWatchdog",
                "cannot see whether the engine turns: no watchdog message for the service manager", NULL, 0);
  return signals;
}

int main(int count, char **arguments) {
  sigset_t blocked, before;
  if (!fill_standard_descriptors()) return EXIT_FAILURE;
  if (!block_signals(&blocked, &before)) {
    log_message(LOG_ERROR, "signalsNotBlocked", "cannot block signals", "sigprocmask", errno);
    return EXIT_FAILURE;
  }
  const struct options options = read_options(count, arguments);
  const int signals = prepare(&options, arguments[0], &blocked);
  if (signals < 0) return EXIT_FAILURE;
  struct engine engine = {.pid = 0, .pidfd = -1, .channel = -1, .report = -1};
  if (!start_engine(&options, &before, &engine)) {
    report_start(EXIT_NOT_STARTED);
    return EXIT_NOT_STARTED;
  }
  raise_priority(&options);
  open_starter(&options, &before, arguments);
  confine();
  while (engine.pid != 0 || restart_engine(&options, &before, &engine)) {
    if (turn(&options, &engine, signals)) {
      follow_rehearsal(&engine);
      continue;
    }
    log_message(LOG_ERROR, "engineNotWatched", "cannot wait for the engine", "poll", errno);
    return EXIT_FAILURE;
  }
  const int status = exit_status(&engine);
  report_start(status);
  return status;
}
