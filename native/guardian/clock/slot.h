/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock thread's side of the slots in shared memory (common/guardian-words.h). This file decides when the clock
 * thread may act on a slot, and the deadline that a sent frame gives to the unit. Requires shared memory.
 */
#ifndef GUARDIAN_CLOCK_SLOT_H
#define GUARDIAN_CLOCK_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../common/guardian-words.h"
#include "order.h"

/* Intervals without a frame after which the cleanup plan of the unit is executed. */
#define ABSENT_PERIODS 3u

struct clock_slot *slot_of(const struct order *order);

/* Returns true if the engine has armed the slot for this order. */
bool is_slot_armed(const struct order *order);
/* Returns true if the clock thread has ended the rounds of this order itself, and the engine has not withdrawn it. */
bool is_slot_stopped(const struct order *order);
/* Returns true if the cleanup plan of the unit is armed and not executed. */
bool is_plan_armed(const struct order *order);

/* Sets BUSY. Returns false if the slot is stopped, or not armed for this order. */
bool claim_slot(const struct order *order);
void free_slot(const struct order *order);
/* Sets STOPPED and clears BUSY. Requires a claimed slot. */
void stop_slot(const struct order *order);

uint64_t last_sent_at(const struct order *order);

/* Records a round and its lateness. Requires a claimed slot. */
void record_round(const struct order *order, uint64_t now, uint64_t late);
void record_failure(const struct order *order);

/* Moves the deadline of the unit to the earliest of its armed slots. Requires a claimed slot. */
void renew_deadline(const struct order *order);
/* Moves the deadline of the unit to `at`, unless it is earlier. Requires a claimed slot. */
void advance_deadline(const struct order *order, uint64_t at);

#endif
