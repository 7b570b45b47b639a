/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor thread's side of the clock: it checks and passes on the engine's orders, and knows the slots of each
 * unit. This file decides how long an execution waits for the clock thread, and which deadlines the clock thread keeps.
 */
#ifndef GUARDIAN_CLOCK_UNITS_H
#define GUARDIAN_CLOCK_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Passes on an order of at least HEADER_SIZE bytes. Returns NULL, or why the message is ignored. */
const char *pass_on_order(const unsigned char *bytes, size_t size);

/* Frees the orders that the clock thread has returned. */
void free_returned_orders(void);

/* Returns true if all armed slots of the unit have rounds. The clock thread then wakes the executor when one ends. */
bool is_kept_by_clock(uint16_t unit);

/* Returns true if the clock thread may be sending frames of this unit. */
bool is_clock_busy(uint16_t unit);

#endif
