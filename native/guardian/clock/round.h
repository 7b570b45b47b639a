/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of an order: its frames are sent once. This file decides the checks directly before sending, and the effect
 * of a round that cannot take place. Only the clock thread uses this file.
 */
#ifndef GUARDIAN_CLOCK_ROUND_H
#define GUARDIAN_CLOCK_ROUND_H

#include <stdint.h>

#include "order.h"

/* Runs the round that is due at `begun`, and plans the next one unless the slot was withdrawn or stopped. */
void run_round(struct order *order, uint64_t begun);

/* Ends the rounds of this order, and moves the deadline of its unit to `at` unless it is earlier; UINT64_MAX = it stays. */
void stop_rounds(struct order *order, uint64_t at);

#endif
