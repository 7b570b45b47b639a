/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orders that the clock thread knows, at most one for each slot, and the sequence of their rounds. An order without
 * a planned round stays in the table, because packets of other routers still concern its slot. Only the clock thread
 * uses this file. This file does not know what a round is.
 */
#ifndef GUARDIAN_CLOCK_TABLE_H
#define GUARDIAN_CLOCK_TABLE_H

#include <stdint.h>

#include "order.h"

/* First of all orders; `next` leads to the others. */
extern struct order *orders;

/* Returns NULL if the slot has no order. */
struct order *order_of(uint16_t slot);

/* Requires that the slot has no order. */
void add_order(struct order *order);
void remove_order(struct order *order);

/* Return the first order of a chain, which may contain others: the caller compares. */
struct order *orders_of_key(uint32_t interface, uint8_t family, uint8_t vrid); /* chain: next_of_key */
struct order *orders_of_unit(uint16_t unit); /* chain: next_of_unit */

/* Plans the order's round for `at`, or moves it there. */
void plan_round(struct order *order, uint64_t at);
/* Does nothing if no round is planned. */
void cancel_round(struct order *order);
/* Returns the order with the next round; NULL = none. */
struct order *next_round(void);

#endif
