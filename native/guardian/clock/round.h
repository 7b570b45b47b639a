/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of an order: its frames are sent once. Decided here: the checks directly before sending, and what a round
 * that cannot take place means. Only the clock thread uses this file.
 */
#ifndef GUARDIAN_CLOCK_ROUND_H
#define GUARDIAN_CLOCK_ROUND_H

#include <stdint.h>

#include "order.h"

/* Runs the round that is due, and plans the next one unless the slot was withdrawn or stopped. */
void run_round(struct order *order);

/* Ends the rounds of this order, and moves the deadline of its unit to `at` unless it is earlier. */
void stop_rounds(struct order *order, uint64_t at);

#endif
