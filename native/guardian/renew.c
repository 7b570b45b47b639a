/* SPDX-License-Identifier: Apache-2.0 */
/* See renew.h. */
#include "renew.h"

#include <string.h>

#include "now.h"
#include "execute.h"
#include "log.h"
#include "netlink.h"
#include "plan.h"
#include "words.h"

#define RENEWAL_ACK_LIMIT_MS 20 /* short: a renewal keeps the unit's word busy, and is repeated */
#define CHUNK_REQUESTS 16u /* requests that take some 0.2 ms; an engine waits up to 5 ms for a busy word */

/* Units whose words are busy until their requests have been answered. */
struct chunk {
  struct plan *plans[CHUNK_REQUESTS];
  unsigned count;
  uint32_t requests;
  struct batch batch;
};

/*
 * Removes addresses that a late renewal may have brought back after the engine waited in vain for a busy word and
 * removed them. Only a word that is still disarmed shows this case. With a newer plan the engine may want the
 * addresses, and sees what was added.
 */
static void undo_late_renewals(struct chunk *chunk, unsigned late, struct outcome *outcome) {
  for (unsigned i = 0; i < late; i++) {
    struct plan *const plan = chunk->plans[i];
    send_requests(plan, 0, plan->requests, outcome, &chunk->batch);
    flush_batch(outcome, &chunk->batch);
    clear_busy(plan);
  }
}

/*
 * Ends a chunk. A renewal counts even if the kernel had just removed the address: REPLACE installs it again, as the
 * engine wants.
 */
static void finish_chunk(struct chunk *chunk, struct outcome *outcome) {
  flush_batch(outcome, &chunk->batch);
  unsigned late = 0;
  for (unsigned i = 0; i < chunk->count; i++) {
    struct plan *const plan = chunk->plans[i];
    if (was_disarmed(plan))
      chunk->plans[late++] = plan;
    else
      clear_busy(plan);
  }
  undo_late_renewals(chunk, late, outcome);
  chunk->count = 0;
  chunk->requests = 0;
}

/*
 * Adds a renewal to the chunk: many small units share one system call. Each word is busy from before its own request
 * leaves until the answer, so nothing is renewed after the engine has stepped down. The engine waits for the whole
 * chunk, not for its own unit, so the size of a chunk has a bound. A large unit is a chunk by itself.
 */
static void add_renewal(struct plan *plan, uint64_t now, struct chunk *chunk, struct outcome *outcome) {
  if (chunk->count == CHUNK_REQUESTS || (chunk->count > 0 && chunk->requests + plan->renewals > CHUNK_REQUESTS))
    finish_chunk(chunk, outcome);
  plan->renew_at = plan->period == 0 ? 0 : now + plan->period;
  if (!mark_busy(plan)) return;
  chunk->plans[chunk->count++] = plan;
  chunk->requests += plan->renewals;
  send_requests(plan, plan->requests, plan->requests + plan->renewals, outcome, &chunk->batch);
}

static bool is_any_due(uint64_t now) {
  for (const struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    if (plan->renew_at != 0 && plan->renew_at <= now) return true;
  return false;
}

/* Logs at most one line a second. */
static void log_failures(const struct outcome *outcome, uint64_t now) {
  static uint64_t logged_at;
  if (outcome->failed == 0 || (logged_at != 0 && now - logged_at < NS_PER_S)) return;
  logged_at = now;
  struct line line;
  begin_line(&line, LOG_WARN, "renewalFailed", "cannot renew the lifetime of addresses");
  append(&line, ",\"failed\":%u,\"errors\":[%s]", outcome->failed, outcome->errors);
  end_line(&line);
}

/*
 * Renews all plans in the same wake-up, so that their expiries are whole seconds apart. The kernel looks for expired
 * addresses at most once a second. Of two addresses that expire less than a second apart, the second stays for that
 * second.
 */
void renew_addresses(uint64_t now) {
  static struct outcome outcome;
  static struct chunk chunk;
  if (!is_any_due(now)) return;
  begin_outcome(&outcome, RENEWAL_ACK_LIMIT_MS);
  open_sockets();
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next)
    if (plan->renew_at != 0) add_renewal(plan, now, &chunk, &outcome);
  finish_chunk(&chunk, &outcome);
  log_failures(&outcome, now);
}
