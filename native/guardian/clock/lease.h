/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lease: frames are sent only as long as the engine proves that it has read everything. This file decides when the
 * clock thread asks for a proof, when the lease is over, and which news the engine has not read. Only the clock thread
 * uses this file. Requires shared memory.
 */
#ifndef GUARDIAN_CLOCK_LEASE_H
#define GUARDIAN_CLOCK_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "order.h"

/* Forgets a question that was asked before any round was planned. */
void begin_lease(void);

/* Records that something arrived that the engine may not have read. The question for a proof follows. */
void expect_proof(uint64_t now);

/* Returns true if no proof is newer than the slot's news. */
bool is_unread(const struct order *order);

/*
 * Returns true if the time that the executor has lent to orphans is over, or if the engine has left a question
 * unanswered for too long. The time counts from the question, because a guardian that stood still must ask first, and
 * from the order, because the engine was alive then.
 */
bool is_lease_over(const struct order *order, uint64_t now);

/* Asks for a proof if one is due. */
void keep_lease(uint64_t now);
/* Returns when keep_lease() or is_lease_over() has something to do; UINT64_MAX = never. */
uint64_t lease_wake_at(uint64_t now);

#endif
