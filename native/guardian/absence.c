/* SPDX-License-Identifier: Apache-2.0 */
/* See absence.h. */
#include "absence.h"

#include <unistd.h>

#include "channel.h"
#include "clock/units.h"
#include "now.h"
#include "execute.h"
#include "heartbeat.h"
#include "plan.h"
#include "restart.h"
#include "words.h"

#define DRAINS_MAX 64 /* an engine that sends without pause must not keep a deadline waiting */

static bool is_overdue(const struct plan *plan, uint64_t now) {
  if (!is_armed(plan)) return false;
  const uint64_t deadline = deadline_of(plan);
  return deadline != 0 && deadline <= now;
}

static bool is_any_overdue(uint64_t now) {
  for (const struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    if (is_overdue(plan, now)) return true;
  return false;
}

/*
 * Returns the time of the next duty. While the clock thread moves a deadline, only the beat looks at it. If another
 * deadline moves further away while the guardian sleeps, the guardian wakes
 * once for nothing.
 */
uint64_t next_duty_at(uint64_t now) {
  uint64_t at = now + BEAT_MS * NS_PER_MS;
  for (const struct plan *plan = plans.first; plan != NULL; plan = plan->next) {
    if (!is_armed(plan)) continue;
    const uint64_t deadline = deadline_of(plan);
    if (deadline != 0 && deadline < at && !is_kept_by_clock(plan->unit)) at = deadline;
    if (plan->renew_at == 0) continue;
    if (plan->renew_at < at) at = plan->renew_at;
    /* An engine with lifetimes to lose counts the guardian as silent after one and a half periods. */
    if (plan->period != 0 && now + plan->period / 2 < at) at = now + plan->period / 2;
  }
  return at;
}

/*
 * A unit that is not armed belongs to an engine that stepped down and sent priority 0 itself. The guardian sends no
 * second one.
 */
static void choose_all_plans(void) {
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    plan->part = !plan->guarded || mark_executed(plan) ? EVERYTHING : ADDRESSES_ONLY;
}

void handle_engine_gone(struct engine *engine) {
  if (engine->gone) return;
  const double noticed_at = clock_ms(CLOCK_MONOTONIC);
  const bool is_open = engine->channel >= 0, waited = engine->waits;
  if (is_open) {
    while (read_channel(engine, MESSAGES_PER_TURN) == READ_MORE) continue;
    (void)close(engine->channel);
    engine->channel = -1;
  }
  /* The death of an engine that has no channel any longer is known. The last message may have been its order to replace it. */
  if (engine->waits && (!is_open || !waited)) return;
  if (begin_restart(engine)) return;
  end_restart(engine, "engine died again");
  engine->gone = true;
  choose_all_plans();
  execute_plans(noticed_at, "engine died");
  forget_plans();
}

/*
 * Reads the channel first and the deadlines again afterwards. mark_executed() only verifies that the plan is still
 * armed.
 */
void enforce_deadlines(struct engine *engine) {
  if (engine->gone || !is_any_overdue(now_ns())) return;
  const double noticed_at = clock_ms(CLOCK_MONOTONIC);
  for (int turns = 0; turns < DRAINS_MAX && engine->channel >= 0; turns++) {
    const enum reading reading = read_channel(engine, MESSAGES_PER_TURN);
    if (reading == READ_CLOSED) return handle_engine_gone(engine);
    if (reading == READ_EMPTY) break;
  }
  const uint64_t now = now_ns();
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    plan->part = is_overdue(plan, now) && mark_executed(plan) ? EVERYTHING : SKIP;
  execute_plans(noticed_at, "engine missed its deadline");
}
