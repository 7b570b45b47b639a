/* SPDX-License-Identifier: Apache-2.0 */
/* See table.h. The sequence of the rounds is a binary heap. */
#include "table.h"

#include <stddef.h>

#include "../../common/guardian-words.h"

#define CHAINS 1024u

struct order *orders;

static struct order *of_slot[CLOCK_SLOTS];
static struct order *of_key[CHAINS];
static struct order *of_unit[CHAINS];

/* heap[1] is the first; the two behind place p are at 2p and 2p + 1. */
static struct order *heap[CLOCK_SLOTS + 1];
static uint32_t planned;

/* ---- table ---- */

static struct order **key_chain(uint32_t interface, uint8_t family, uint8_t vrid) {
  return &of_key[(interface * 521u + family * 257u + vrid) % CHAINS];
}

static struct order **unit_chain(uint16_t unit) {
  return &of_unit[unit % CHAINS];
}

struct order *order_of(uint16_t slot) {
  return of_slot[slot];
}

struct order *orders_of_key(uint32_t interface, uint8_t family, uint8_t vrid) {
  return *key_chain(interface, family, vrid);
}

struct order *orders_of_unit(uint16_t unit) {
  return *unit_chain(unit);
}

void add_order(struct order *order) {
  struct order **const key = key_chain(order->interface, order->family, order->vrid);
  struct order **const unit = unit_chain(order->unit);
  order->next_of_key = *key;
  *key = order;
  order->next_of_unit = *unit;
  *unit = order;
  order->previous = NULL;
  order->next = orders;
  if (orders != NULL) orders->previous = order;
  orders = order;
  of_slot[order->slot] = order;
}

void remove_order(struct order *order) {
  struct order **key = key_chain(order->interface, order->family, order->vrid);
  struct order **unit = unit_chain(order->unit);
  cancel_round(order);
  while (*key != order) key = &(*key)->next_of_key;
  *key = order->next_of_key;
  while (*unit != order) unit = &(*unit)->next_of_unit;
  *unit = order->next_of_unit;
  *(order->previous != NULL ? &order->previous->next : &orders) = order->next;
  if (order->next != NULL) order->next->previous = order->previous;
  of_slot[order->slot] = NULL;
}

/* ---- sequence ---- */

static void put(struct order *order, uint32_t place) {
  heap[place] = order;
  order->place = place;
}

static void move_forward(struct order *order, uint32_t place) {
  for (; place > 1 && heap[place / 2]->wake_at > order->wake_at; place /= 2) put(heap[place / 2], place);
  put(order, place);
}

static void move_back(struct order *order, uint32_t place) {
  for (uint32_t next; (next = 2 * place) <= planned; place = next) {
    if (next < planned && heap[next + 1]->wake_at < heap[next]->wake_at) next++;
    if (heap[next]->wake_at >= order->wake_at) break;
    put(heap[next], place);
  }
  put(order, place);
}

/* Moves the order at `place` to where its time belongs. */
static void settle(struct order *order, uint32_t place) {
  if (place > 1 && heap[place / 2]->wake_at > order->wake_at)
    move_forward(order, place);
  else
    move_back(order, place);
}

void plan_round(struct order *order, uint64_t at) {
  order->wake_at = at;
  settle(order, order->place != 0 ? order->place : ++planned);
}

void cancel_round(struct order *order) {
  if (order->place == 0) return;
  struct order *const last = heap[planned--];
  if (last != order) settle(last, order->place);
  order->place = 0;
}

struct order *next_round(void) {
  return planned == 0 ? NULL : heap[1];
}
