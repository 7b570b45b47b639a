/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders of the clock: the frames of a slot, as the engine prepared them. This file decides which message is an order.
 * An order that was made is well formed, so the functions that read it check nothing. The executor thread makes and
 * frees orders. Between send_order() and take_returned_orders() (mail.h) an order belongs to the clock thread.
 */
#ifndef GUARDIAN_CLOCK_ORDER_H
#define GUARDIAN_CLOCK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order {
  struct order *next; /* in a list of mail.h, or in the table of table.h */
  struct order *previous;
  struct order *next_of_key;
  struct order *next_of_unit;
  uint16_t slot;
  uint16_t unit;
  bool forgets; /* the message was KIND_FORGET: the fields below are 0 */
  uint8_t family; /* 4 or 6 */
  uint8_t vrid;
  uint32_t generation;
  uint32_t interface;
  uint64_t period; /* ns, as every time below */
  uint64_t planned; /* the next round */
  uint64_t advance; /* time by which later rounds still have to move to an earlier time */
  uint64_t wake_at; /* `planned`, or later after a round that could not take place */
  uint64_t arrived; /* time at which the clock thread took the order */
  uint64_t listens; /* since when packets of other routers are read for this slot */
  uint64_t noted; /* the last drain of news.c that noted news for this slot */
  uint32_t place; /* place in the heap, from 1; 0 if no round is planned */
  unsigned char source[16];
  uint32_t records;
  size_t size;
  unsigned char bytes[]; /* the message as received, checked */
};

/* Makes an order of a message of at least HEADER_SIZE bytes. Returns NULL, or the defect of the message. */
const char *make_order(const unsigned char *bytes, size_t size, struct order **order);

/* Returns the offset of the record behind the one at `at`. */
size_t after_record(const struct order *order, size_t at);

#endif
