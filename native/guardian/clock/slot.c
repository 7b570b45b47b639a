/* SPDX-License-Identifier: Apache-2.0 */
/* See slot.h. */
#include "slot.h"

#include "../words.h"
#include "table.h"

struct clock_slot *slot_of(const struct order *order) {
  return &words->slot[order->slot];
}

static struct guardian_unit *unit_of(const struct order *order) {
  return &words->unit[order->unit];
}

static uint32_t load_word(const struct order *order) {
  return __atomic_load_n(&slot_of(order)->word, __ATOMIC_SEQ_CST);
}

static bool is_armed_for(const struct order *order, uint32_t word) {
  return (word & WORD_ARMED) != 0 && word >> WORD_GENERATION == order->generation;
}

bool is_slot_armed(const struct order *order) {
  return is_armed_for(order, load_word(order));
}

bool is_slot_stopped(const struct order *order) {
  const uint32_t word = load_word(order);
  return is_armed_for(order, word) && (word & WORD_STOPPED) != 0;
}

bool is_plan_armed(const struct order *order) {
  const uint32_t word = __atomic_load_n(&unit_of(order)->word, __ATOMIC_SEQ_CST);
  return (word & (WORD_ARMED | WORD_EXECUTED)) == WORD_ARMED;
}

bool claim_slot(const struct order *order) {
  uint32_t word = load_word(order);
  do {
    if (!is_armed_for(order, word) || (word & WORD_STOPPED) != 0) return false;
  } while (!__atomic_compare_exchange_n(&slot_of(order)->word, &word, word | WORD_BUSY, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
  return true;
}

void free_slot(const struct order *order) {
  (void)__atomic_and_fetch(&slot_of(order)->word, ~WORD_BUSY, __ATOMIC_SEQ_CST);
}

/* One store for both bits, because the engine arms a slot again as soon as it is not busy. */
void stop_slot(const struct order *order) {
  uint32_t word = load_word(order);
  while (!__atomic_compare_exchange_n(&slot_of(order)->word, &word, (word & ~WORD_BUSY) | WORD_STOPPED, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    continue;
}

uint64_t last_sent_at(const struct order *order) {
  return __atomic_load_n(&slot_of(order)->sent_at, __ATOMIC_SEQ_CST);
}

/* The engine exchanges `latest` with 0, so that the greatest value needs a loop. */
void record_round(const struct order *order, uint64_t now, uint64_t late) {
  struct clock_slot *const slot = slot_of(order);
  __atomic_store_n(&slot->sent_at, now, __ATOMIC_SEQ_CST);
  (void)__atomic_add_fetch(&slot->sent, 1, __ATOMIC_SEQ_CST);
  uint64_t latest = __atomic_load_n(&slot->latest, __ATOMIC_SEQ_CST);
  while (latest < late &&
         !__atomic_compare_exchange_n(&slot->latest, &latest, late, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    continue;
}

void record_failure(const struct order *order) {
  (void)__atomic_add_fetch(&slot_of(order)->failed, 1, __ATOMIC_SEQ_CST);
}

/* A stopped slot counts as well: its last frame is the oldest. */
void renew_deadline(const struct order *order) {
  uint64_t earliest = UINT64_MAX;
  for (const struct order *each = orders_of_unit(order->unit); each != NULL; each = each->next_of_unit) {
    if (each->unit != order->unit || !is_slot_armed(each)) continue;
    const uint64_t deadline = last_sent_at(each) + ABSENT_PERIODS * each->period;
    if (deadline < earliest) earliest = deadline;
  }
  if (earliest != UINT64_MAX) __atomic_store_n(&unit_of(order)->deadline, earliest, __ATOMIC_SEQ_CST);
}

void advance_deadline(const struct order *order, uint64_t at) {
  const uint64_t deadline = __atomic_load_n(&unit_of(order)->deadline, __ATOMIC_SEQ_CST);
  if (deadline == 0 || deadline > at) __atomic_store_n(&unit_of(order)->deadline, at, __ATOMIC_SEQ_CST);
}
