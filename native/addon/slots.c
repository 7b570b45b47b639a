/* SPDX-License-Identifier: Apache-2.0 */
/* See slots.h. */
#include "slots.h"

#include "words.h"

#define FIELDS 6u

/* Returns NULL after it has thrown. */
static struct clock_slot *read_slot(napi_env env, napi_value self, napi_value value) {
  int number = 0;
  struct words_object *const object = unwrap_words_object(env, self);
  if (object == NULL || !read_int(env, value, &number)) return NULL;
  if (number >= 0 && (unsigned)number < CLOCK_SLOTS) return &object->memory->slot[number];
  throw_range(env, "a slot is 0 to 16383");
  return NULL;
}

/* The word is stored last: the clock thread reads the other fields only after it has found the slot armed. */
napi_value slot_arm(napi_env env, napi_callback_info info) {
  napi_value values[3], self;
  int unit = 0;
  double sent_at = 0;
  if (!read_arguments(env, info, 3, values, &self)) return NULL;
  struct clock_slot *const slot = read_slot(env, self, values[0]);
  if (slot == NULL || !read_int(env, values[1], &unit) || !read_ms(env, values[2], &sent_at)) return NULL;
  if (unit < 0 || (unsigned)unit >= WORDS_UNITS) {
    throw_range(env, "a unit is 0 to 65535");
    return NULL;
  }
  const uint32_t word = __atomic_load_n(&slot->word, __ATOMIC_SEQ_CST);
  if ((word & WORD_BUSY) != 0) return to_uint(env, 0);
  const uint32_t next = (word >> WORD_GENERATION) % WORD_GENERATIONS + 1;
  /* A slot that is armed already must not be claimed with half of the new fields. */
  if ((word & WORD_ARMED) != 0 &&
      (__atomic_and_fetch(&slot->word, ~WORD_ARMED, __ATOMIC_SEQ_CST) & WORD_BUSY) != 0)
    return to_uint(env, 0);
  __atomic_store_n(&slot->unit, (uint32_t)unit, __ATOMIC_SEQ_CST);
  __atomic_store_n(&slot->sent_at, (uint64_t)(sent_at * 1e6), __ATOMIC_SEQ_CST);
  __atomic_store_n(&slot->word, next << WORD_GENERATION | WORD_ARMED, __ATOMIC_SEQ_CST);
  return to_uint(env, next);
}

/* Disarms first and waits second: a clock thread that begins now finds the slot withdrawn. */
napi_value slot_withdraw(napi_env env, napi_callback_info info) {
  napi_value values[2], self;
  double ms = 0;
  if (!read_arguments(env, info, 2, values, &self)) return NULL;
  struct clock_slot *const slot = read_slot(env, self, values[0]);
  if (slot == NULL || !read_ms(env, values[1], &ms)) return NULL;
  (void)__atomic_and_fetch(&slot->word, ~WORD_ARMED, __ATOMIC_SEQ_CST);
  return to_uint(env, await_not_busy(&slot->word, ms));
}

static double load(const uint64_t *field) {
  return (double)__atomic_load_n(field, __ATOMIC_SEQ_CST);
}

napi_value slot_read(napi_env env, napi_callback_info info) {
  napi_value values[2], self;
  double *out = NULL;
  if (!read_arguments(env, info, 2, values, &self)) return NULL;
  struct clock_slot *const slot = read_slot(env, self, values[0]);
  if (slot == NULL || !read_doubles(env, values[1], FIELDS, &out)) return NULL;
  out[0] = load(&slot->sent_at) / 1e6;
  out[1] = load(&slot->news_at) / 1e6;
  out[2] = load(&slot->sent);
  out[3] = load(&slot->failed);
  out[4] = (double)__atomic_exchange_n(&slot->latest, 0, __ATOMIC_SEQ_CST) / 1e6;
  out[5] = (double)__atomic_load_n(&slot->word, __ATOMIC_SEQ_CST);
  return NULL;
}
