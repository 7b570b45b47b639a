/* SPDX-License-Identifier: Apache-2.0 */
/* See thread.h. */
#define _GNU_SOURCE
#include "thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../confine/filter.h"
#include "../log.h"
#include "../now.h"
#include "../words.h"
#include "cover.h"
#include "lease.h"
#include "mail.h"
#include "news.h"
#include "orphans.h"
#include "round.h"
#include "slot.h"
#include "sockets.h"
#include "suspend.h"
#include "table.h"

#define ROUNDS_PER_TURN 256 /* with too many orders, the lease and new orders must not wait */
#define LONG_AGO UINT64_C(1) /* deadline after which the executor stays silent */

bool clock_runs;

/* ---- orders ---- */

/* A slot whose order names the same router as before has been listened for all the time. */
static bool is_same_router(const struct order *one, const struct order *other) {
  return one->interface == other->interface && one->family == other->family && one->vrid == other->vrid &&
         one->unit == other->unit;
}

static void take_order(struct order *order, uint64_t now) {
  struct order *const before = order_of(order->slot);
  order->arrived = now;
  order->listens = before != NULL && !order->forgets && is_same_router(before, order) ? before->listens : now;
  if (before != NULL) {
    remove_order(before);
    return_order(before);
  }
  if (order->forgets) return return_order(order);
  if (next_round() == NULL) {
    begin_lease();
    forget_suspension();
  }
  add_order(order);
  if (!is_slot_armed(order)) return;
  plan_round(order, order->planned);
  if (is_unread(order)) expect_proof(now);
}

static void take_orders(uint64_t now) {
  struct order *next;
  for (struct order *order = take_sent_orders(); order != NULL; order = next) {
    next = order->next;
    take_order(order, now);
    change_cover();
  }
}

/* ---- rounds ---- */

/* The caller has read that the machine was suspended: another node has long taken over. */
static void stop_all(void) {
  for (struct order *order; (order = next_round()) != NULL;) stop_rounds(order, LONG_AGO);
  forget_suspension();
}

/* The cleanup plan keeps its deadline of three intervals, because an engine whose lease is over may only have stood still. */
static void end_leases(uint64_t now) {
  const uint64_t at = are_orphans() ? now : UINT64_MAX;
  for (struct order *order = orders; order != NULL; order = order->next)
    if (order->place != 0 && is_lease_over(order, now)) stop_rounds(order, at);
}

/*
 * News of orphans, or an executor that stood still for too long, ends their frames now. At the release, the news that arrived before it is still news without an engine.
 */
static void follow_orphans(uint64_t now) {
  struct order *next;
  if (!are_orphans()) return;
  const bool is_last = is_released(), is_over = is_adoption_over(now);
  if (is_last) {
    read_news(4);
    read_news(6);
  }
  for (struct order *order = orders; order != NULL; order = next) {
    next = order->next;
    if (order->place != 0 && (is_over || is_unread(order))) stop_rounds(order, now);
  }
  if (!is_last) return;
  end_orphans();
  begin_lease();
}

static void run_due_rounds(void) {
  struct order *order;
  for (int i = 0; i < ROUNDS_PER_TURN && (order = next_round()) != NULL; i++) {
    const uint64_t now = now_ns();
    if (was_suspended()) return stop_all();
    if (is_lease_over(order, now)) end_leases(now);
    if (order->place == 0) continue;
    if (order->wake_at > now) return;
    run_round(order, now);
  }
}

/* ---- thread ---- */

static void wait_for_event(void) {
  enum { ORDERS, NEWS4, NEWS6, WATCHED };
  struct pollfd watched[WATCHED] = {
      {clock_wake_fd, POLLIN, 0}, {raw_socket_of(4), POLLIN, 0}, {raw_socket_of(6), POLLIN, 0}};
  const uint64_t now = now_ns(), lease = lease_wake_at(now);
  const struct order *const next = next_round();
  const uint64_t at = next != NULL && next->wake_at < lease ? next->wake_at : lease;
  const uint64_t wait = at > now ? at - now : 0;
  const struct timespec limit = {.tv_sec = (time_t)(wait / NS_PER_S), .tv_nsec = (long)(wait % NS_PER_S)};
  const int ready = ppoll(watched, WATCHED, at == UINT64_MAX ? NULL : &limit, NULL);
  /* The round that is due needs no look, because ppoll() has looked at each socket once more at the end of the wait. */
  if (ready == 0) return note_no_news(at);
  if (ready < 0) return;
  if (watched[ORDERS].revents != 0) clear_wake_up(clock_wake_fd);
  if (watched[NEWS4].revents != 0) read_news(4);
  if (watched[NEWS6].revents != 0) read_news(6);
}

void turn_clock(void) {
  const uint64_t now = now_ns();
  __atomic_store_n(&words->clock_beat, now, __ATOMIC_SEQ_CST);
  take_orders(now);
  follow_orphans(now);
  run_due_rounds();
  keep_lease(now_ns());
  keep_cover(now_ns());
  wait_for_event();
}

/*
 * A thread does not inherit the priority of the guardian (SCHED_RESET_ON_FORK). The clock is one above the executor, so
 * that removing many addresses delays no frame of another unit. The guardian has logged a missing permission already.
 */
static void *keep_time(void *realtime) {
  const struct sched_param parameter = {.sched_priority = *(const int *)realtime};
  (void)prctl(PR_SET_NAME, "holdfast-clock");
  if (parameter.sched_priority > 0) (void)syscall(SYS_sched_setscheduler, 0, SCHED_RR, &parameter);
  (void)confine_clock(); /* the executor logs why there is no filter */
  for (;;) turn_clock();
  return NULL;
}

/* Returns 0 or errno. The thread handles no signal. */
static int start_thread(const int *realtime) {
  sigset_t all, before;
  pthread_t thread;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread, NULL, keep_time, (void *)realtime);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error == 0) (void)pthread_detach(thread);
  return error;
}

void start_clock(int realtime) {
  static const char complaint[] = "no clock for the engine, which sends its advertisements itself";
  static int priority;
  priority = realtime;
  const char *const failed = open_clock_descriptors();
  if (failed != NULL) return log_message(LOG_WARN, "noClock", complaint, failed, errno);
  const int error = start_thread(&priority);
  if (error != 0) return log_message(LOG_WARN, "noClock", complaint, "pthread_create", error);
  clock_runs = true;
}
