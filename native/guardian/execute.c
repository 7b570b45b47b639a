/* SPDX-License-Identifier: Apache-2.0 */
/* See execute.h. */
#include "execute.h"

#include <stdio.h>
#include <string.h>

#include "now.h"
#include "clock/units.h"
#include "log.h"
#include "netlink.h"
#include "packet.h"
#include "plan.h"
#include "words.h"

#define ACK_LIMIT_MS 100
#define CLOCK_LIMIT (5 * NS_PER_MS) /* longest wait for a round of the clock thread */

void open_sockets(void) {
  open_netlink();
  open_raw_sockets();
}

/* Long after the deadline another node has taken over. A late priority 0 of this node would mislead the LAN. */
static bool is_past_grace(const struct plan *plan, uint64_t now) {
  if (!plan->guarded || plan->grace == 0) return false;
  const uint64_t deadline = deadline_of(plan);
  return deadline != 0 && now > deadline + plan->grace;
}

static struct plan *find_busy_plan(void) {
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    if (plan->part == EVERYTHING && is_clock_busy(plan->unit)) return plan;
  return NULL;
}

/*
 * Waits until the clock thread sends no frame of the plans. A round that begins now finds the plan executed. A thread
 * that stands still must not keep an address here.
 */
static void await_clock(void) {
  const struct timespec pause = {0, 100000};
  const uint64_t until = now_ns() + CLOCK_LIMIT;
  while (find_busy_plan() != NULL && now_ns() < until) (void)nanosleep(&pause, NULL);
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    if (plan->part == EVERYTHING) plan->overtaken = plan->guarded && is_clock_busy(plan->unit);
}

/* Returns how many plans send no packet. */
static unsigned remove_addresses(struct outcome *outcome) {
  static struct batch batch;
  unsigned silent = 0;
  const uint64_t now = now_ns();
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next) {
    if (plan->part == SKIP) continue;
    if (plan->part == EVERYTHING && is_past_grace(plan, now)) plan->part = ADDRESSES_ONLY;
    if (plan->part == ADDRESSES_ONLY) silent++;
    send_requests(plan, 0, plan->requests, outcome, &batch);
    outcome->plans++;
  }
  flush_batch(outcome, &batch);
  return silent;
}

static void send_all_packets(struct outcome *outcome) {
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next) {
    if (plan->part == EVERYTHING) send_packets(plan, outcome);
    if (plan->part != SKIP && plan->guarded) clear_busy(plan);
    plan->part = SKIP;
  }
}

static void log_execution(const struct outcome *outcome, const char *why, unsigned silent, double removed_ms,
                          double total_ms) {
  struct line line;
  char text[160], sent[64] = "";
  const bool clean = outcome->failed == 0 && outcome->sent == outcome->packets;
  const unsigned removed = outcome->done + outcome->absent;
  if (outcome->packets > 0)
    (void)snprintf(sent, sizeof sent, ", %s",
                   outcome->sent == outcome->packets ? "sent priority 0" : "could not send every priority 0");
  if (outcome->failed == 0)
    (void)snprintf(text, sizeof text, "%s: removed %u VIP%s%s", why, removed, removed == 1 ? "" : "s", sent);
  else
    (void)snprintf(text, sizeof text, "%s: removed %u of %u VIPs%s", why, removed, outcome->requests, sent);
  begin_line(&line, clean ? LOG_WARN : LOG_ERROR, "plansExecuted", text);
  append(&line, ",\"plans\":%u,\"silent\":%u,\"requests\":%u,\"removed\":%u,\"absent\":%u,\"failed\":%u",
         outcome->plans, silent, outcome->requests, outcome->done, outcome->absent, outcome->failed);
  append(&line, ",\"packets\":%u,\"sent\":%u,\"removedMs\":%.3f,\"ms\":%.3f", outcome->packets, outcome->sent,
         removed_ms, total_ms);
  append(&line, ",\"errors\":[%s]", outcome->errors);
  end_line(&line);
}

/* The successor must not act while this node still answers for an address, so packets are sent last. */
void execute_plans(double noticed_at, const char *why) {
  static struct outcome outcome;
  begin_outcome(&outcome, ACK_LIMIT_MS);
  open_sockets();
  await_clock();
  const unsigned silent = remove_addresses(&outcome);
  if (outcome.plans == 0) return;
  const double removed_at = clock_ms(CLOCK_MONOTONIC);
  send_all_packets(&outcome);
  log_execution(&outcome, why, silent, removed_at - noticed_at, clock_ms(CLOCK_MONOTONIC) - noticed_at);
}

void repeat_packets(void) {
  static struct outcome outcome;
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next) {
    if (!plan->overtaken || is_clock_busy(plan->unit)) continue;
    plan->overtaken = false;
    if (!is_executed(plan)) continue;
    begin_outcome(&outcome, 0);
    send_packets(plan, &outcome);
    log_message(LOG_WARN, "priorityZeroRepeated", "the clock was late: sent priority 0 once more", NULL, 0);
  }
}
