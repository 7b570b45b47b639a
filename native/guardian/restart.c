/* SPDX-License-Identifier: Apache-2.0 */
/* See restart.h. */
#define _GNU_SOURCE
#include "restart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/membership.h"
#include "clock/orphans.h"
#include "clock/units.h"
#include "confine/starter.h"
#include "execute.h"
#include "log.h"
#include "message.h"
#include "now.h"
#include "plan.h"
#include "process.h"
#include "upgrade.h"
#include "words.h"

/*
 * Longest time without an engine after an order of the engine: the program has passed its dry run, so a late start shows
 * only a busy node.
 */
#define REPLACEMENT_TIME (10 * NS_PER_S)
#define ADOPTION_TIME (2 * NS_PER_S) /* longest time without an engine after a crash */

/*
 * The clock gets its time in steps, each time that the executor has renewed the addresses: a clock whose executor
 * stands still must stop before the kernel removes an address. For this reason a step is as long as the lease of an
 * engine (clock/lease.c).
 */
#define STEP (1200 * NS_PER_MS)
#define LEND_AGAIN (300 * NS_PER_MS)
#define AGAIN (60 * NS_PER_S) /* a second crash within this time executes the plans */
#define CLAIM_SIZE 8u /* of a slot and its generation in a snapshot */

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif

int snapshot_fd = -1;

/* The latest snapshot: the message as received, checked; NULL = the engine must not be started again. */
static unsigned char *snapshot;
static size_t snapshot_size;

static bool had_snapshot; /* the engine wanted to be started again, at least for a time */

static uint64_t restarted_at; /* of the last restart or replacement; 0 = none */
static unsigned restarts;
static bool is_ordered; /* the next engine follows no crash */
static uint64_t ends_at; /* of the wait for the next engine */
static uint64_t lent_at;

/* ---- the snapshot ---- */

static void forget_snapshot(void) {
  free(snapshot);
  snapshot = NULL;
}

const char *check_snapshot(const unsigned char *bytes, size_t size) {
  const uint32_t claims = u32_at(bytes + 4);
  const bool has_end = bytes[1] == KIND_HAND_OVER;
  if (u16_at(bytes + 2) != 0 || (!has_end && u32_at(bytes + 8) != 0)) return "a zero is missing";
  if (claims > CLOCK_SLOTS || size - HEADER_SIZE < (size_t)claims * CLAIM_SIZE) return "a slot is cut";
  for (uint32_t i = 0; i < claims; i++)
    if (u32_at(bytes + HEADER_SIZE + i * CLAIM_SIZE) >= CLOCK_SLOTS) return "a slot is out of range";
  return NULL;
}

const char *store_snapshot(const unsigned char *bytes, size_t size) {
  const char *const fault = check_snapshot(bytes, size);
  if (fault != NULL) return fault;
  forget_snapshot();
  if (size == HEADER_SIZE) return NULL;
  snapshot = malloc(size);
  if (snapshot == NULL) return "no memory to keep it";
  memcpy(snapshot, bytes, size);
  snapshot_size = size;
  had_snapshot = true;
  return NULL;
}

/* Returns true if the clock thread still sends, for each router of the engine's record, the frames that the record names. */
static bool are_claims_armed(void) {
  for (uint32_t i = 0; i < u32_at(snapshot + 4); i++) {
    const unsigned char *const claim = snapshot + HEADER_SIZE + i * CLAIM_SIZE;
    const uint32_t word = __atomic_load_n(&words->slot[u32_at(claim)].word, __ATOMIC_SEQ_CST);
    if ((word & (WORD_ARMED | WORD_STOPPED)) != WORD_ARMED || word >> WORD_GENERATION != u32_at(claim + 4)) return false;
  }
  return true;
}

static bool write_all(int fd, const void *bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t written = write(fd, (const unsigned char *)bytes + at, size - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += (size_t)written;
  }
  return true;
}

/*
 * The first line has the number of restarts, the time of the crash in ms, and the wait status of the dead engine. The
 * fourth field is 1 if the engine was replaced. The engine's own text follows.
 */
bool open_snapshot(const unsigned char *bytes, size_t size, uint64_t died_at, int status, bool replaces) {
  char head[96];
  const size_t body = HEADER_SIZE + (size_t)u32_at(bytes + 4) * CLAIM_SIZE;
  snapshot_fd = (int)syscall(SYS_memfd_create, "holdfast-snapshot", MFD_CLOEXEC);
  if (snapshot_fd < 0) return false;
  const int length =
      snprintf(head, sizeof head, "%u %.3f %d %d\n", restarts, (double)died_at / 1e6, status, replaces);
  return write_all(snapshot_fd, head, (size_t)length) &&
         write_all(snapshot_fd, bytes + body, size - body) && lseek(snapshot_fd, 0, SEEK_SET) == 0;
}

void close_snapshot(void) {
  if (snapshot_fd >= 0) (void)close(snapshot_fd);
  snapshot_fd = -1;
}

/* ---- the wait ---- */

/* A plan that the clock thread does not keep belongs to a router that was about to do something else. */
static bool are_plans_kept(void) {
  for (const struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    if (!is_armed(plan) || !is_kept_by_clock(plan->unit)) return false;
  return true;
}

/* Returns NULL if the addresses may wait for another engine, otherwise the reason. */
static const char *find_obstacle(const struct engine *engine) {
  if (snapshot == NULL || words == NULL || engine->pid <= 0) return "the engine has given no record";
  if (engine->waits || engine->stopping) return "the engine is starting or stopping";
  if (!has_starter()) return "the process that starts engines has ended";
  if (!has_all_memberships()) return "the guardian cannot join the multicast groups";
  if (!are_claims_armed()) return "the clock of a router was withdrawn or has stopped";
  return are_plans_kept() ? NULL : "a router with addresses has no clock";
}

static uint64_t end_of_step(uint64_t now) {
  lent_at = now;
  return now + STEP < ends_at ? now + STEP : ends_at;
}

/*
 * The clock thread itself refuses frames that the dead engine might not have wanted: see clock/orphans.h. An engine that
 * has closed its channel may be alive, and must not act beside the next one.
 */
static void let_wait(struct engine *engine, uint64_t now) {
  ends_at = now + (is_ordered ? REPLACEMENT_TIME : ADOPTION_TIME);
  adopt_orphans(end_of_step(now));
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next) plan->inherited = true;
  engine->waits = true;
  engine->settled = engine->ready = false;
  engine->died_at = now;
  forget_rehearsal();
  (void)kill(engine->pid, SIGKILL);
}

static void log_obstacle(const char *obstacle) {
  struct line line;
  begin_line(&line, LOG_WARN, "engineNotRestarted", "engine died: not started again, its addresses are released");
  append_string(&line, "reason", obstacle);
  end_line(&line);
}

bool begin_restart(struct engine *engine) {
  const uint64_t now = now_ns();
  const bool is_again = restarted_at != 0 && now - restarted_at < AGAIN;
  const char *const obstacle = is_again ? "the engine was started again less than a minute ago" : find_obstacle(engine);
  if (obstacle != NULL) {
    if (had_snapshot && plans.first != NULL && !engine->waits && !engine->stopping) log_obstacle(obstacle);
    return false;
  }
  is_ordered = false;
  let_wait(engine, now);
  return true;
}

const char *begin_replacement(struct engine *engine) {
  const char *const obstacle = find_obstacle(engine);
  if (obstacle != NULL) {
    forget_snapshot();
    return obstacle;
  }
  is_ordered = engine->replaced = true;
  let_wait(engine, now_ns());
  /* Messages that follow the order are not read. */
  (void)close(engine->channel);
  engine->channel = -1;
  return NULL;
}

/* Executes the plans of the dead engine, and forgets them. */
static void execute_inherited(const char *why) {
  const double noticed_at = clock_ms(CLOCK_MONOTONIC);
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    plan->part = plan->inherited && mark_executed(plan) ? EVERYTHING : SKIP;
  execute_plans(noticed_at, why);
  for (struct plan *plan = plans.first, *next; plan != NULL; plan = next) {
    next = plan->next;
    if (plan->inherited && !plan->overtaken) remove_plan(plan->unit);
  }
}

void end_restart(struct engine *engine, const char *why) {
  if (!engine->waits) return;
  engine->waits = false;
  execute_inherited(why);
  release_orphans();
}

static void log_restart(const struct engine *engine) {
  struct line line;
  if (is_ordered)
    begin_line(&line, LOG_INFO, "engineReplaced", "replaced the engine by another one, its addresses stay");
  else
    begin_line(&line, LOG_WARN, "engineRestarted", "engine died: started it again, its addresses stay");
  append(&line, ",\"restarts\":%u,\"ms\":%.3f", restarts, (double)(now_ns() - engine->died_at) / 1e6);
  end_line(&line);
}

bool restart_engine(const struct options *options, const sigset_t *mask, struct engine *engine) {
  if (!engine->waits) return false;
  const bool crashed = !WIFEXITED(engine->status) || WEXITSTATUS(engine->status) != EXIT_SUCCESS;
  restarted_at = now_ns();
  if (!is_ordered) restarts++;
  const bool started = crashed &&
      open_snapshot(snapshot, snapshot_size, engine->died_at, engine->status, is_ordered) &&
      start_engine(options, mask, engine);
  close_snapshot();
  forget_snapshot();
  if (!started) {
    end_restart(engine, "engine was not started again");
    engine->gone = true;
    return false;
  }
  engine->replaced = false;
  if (!is_ordered) (void)exit_status(engine); /* logs the signal */
  log_restart(engine);
  return true;
}

void follow_restart(struct engine *engine) {
  if (!engine->waits) return;
  if (engine->settled) return end_restart(engine, "engine did not take over an address of the engine before it");
  if (now_ns() >= ends_at) end_restart(engine, "engine did not return in time");
}

void lend_time(const struct engine *engine, uint64_t now) {
  if (engine->waits) lend_to_orphans(end_of_step(now));
}

uint64_t restart_ends_at(const struct engine *engine) {
  if (!engine->waits) return UINT64_MAX;
  return lent_at + LEND_AGAIN < ends_at ? lent_at + LEND_AGAIN : ends_at;
}
