/* SPDX-License-Identifier: Apache-2.0 */
/* See units.h. */
#include "units.h"

#include <stdlib.h>

#include "../plan.h"
#include "../words.h"
#include "filter.h"
#include "mail.h"
#include "membership.h"
#include "order.h"
#include "thread.h"

/* Slots of each unit, as a list of numbers; 0 = none, so a slot is listed as its number + 1. */
static uint32_t first_slot[UNITS];
static uint32_t next_slot[CLOCK_SLOTS];
static uint16_t unit_of[CLOCK_SLOTS];
static bool listed[CLOCK_SLOTS];

static void unlist(uint16_t slot) {
  if (!listed[slot]) return;
  uint32_t *link = &first_slot[unit_of[slot]];
  while (*link != slot + 1u) link = &next_slot[*link - 1];
  *link = next_slot[slot];
  listed[slot] = false;
}

static void list(uint16_t slot, uint16_t unit) {
  if (listed[slot] && unit_of[slot] == unit) return;
  unlist(slot);
  unit_of[slot] = unit;
  next_slot[slot] = first_slot[unit];
  first_slot[unit] = slot + 1u;
  listed[slot] = true;
}

const char *pass_on_order(const unsigned char *bytes, size_t size) {
  struct order *order = NULL;
  if (!clock_runs) return "there is no clock thread";
  free_returned_orders();
  const char *const fault = make_order(bytes, size, &order);
  if (fault != NULL) return fault;
  if (!order->forgets && !accept_vrid(order)) {
    free(order);
    return "the kernel refuses the filter for its VRID";
  }
  if (!order->forgets) {
    list(order->slot, order->unit);
    join_groups(order);
  }
  send_order(order);
  return NULL;
}

void free_returned_orders(void) {
  struct order *next;
  for (struct order *order = take_returned_orders(); order != NULL; order = next) {
    next = order->next;
    if (!order->forgets) release_vrid(order);
    free(order);
  }
}

static uint32_t load_word(uint32_t slot) {
  return __atomic_load_n(&words->slot[slot].word, __ATOMIC_SEQ_CST);
}

bool is_kept_by_clock(uint16_t unit) {
  bool kept = false;
  for (uint32_t link = first_slot[unit]; link != 0; link = next_slot[link - 1]) {
    const uint32_t word = load_word(link - 1);
    if ((word & WORD_ARMED) == 0) continue;
    if ((word & WORD_STOPPED) != 0) return false;
    kept = true;
  }
  return kept;
}

bool is_clock_busy(uint16_t unit) {
  for (uint32_t link = first_slot[unit]; link != 0; link = next_slot[link - 1])
    if ((load_word(link - 1) & WORD_BUSY) != 0) return true;
  return false;
}
