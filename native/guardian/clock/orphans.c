/* SPDX-License-Identifier: Apache-2.0 */
/* See orphans.h. */
#include "orphans.h"

#include "../words.h"
#include "mail.h"

enum { NONE, WAITING, RELEASED };

static uint32_t state;
static uint64_t ends_at, proof;

/* The state is stored last: the clock thread reads the other fields only after it has found orphans. */
void adopt_orphans(uint64_t until) {
  __atomic_store_n(&ends_at, until, __ATOMIC_SEQ_CST);
  __atomic_store_n(&proof, __atomic_load_n(&words->proof_at, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
  __atomic_store_n(&state, WAITING, __ATOMIC_SEQ_CST);
  wake_clock();
}

/* A clock that waits needs no wake-up: it reads the end with its next round. */
void lend_to_orphans(uint64_t until) {
  __atomic_store_n(&ends_at, until, __ATOMIC_SEQ_CST);
}

void release_orphans(void) {
  __atomic_store_n(&state, RELEASED, __ATOMIC_SEQ_CST);
  wake_clock();
}

bool are_orphans(void) {
  return __atomic_load_n(&state, __ATOMIC_SEQ_CST) != NONE;
}

uint64_t last_proof(void) {
  return __atomic_load_n(&proof, __ATOMIC_SEQ_CST);
}

bool is_adoption_over(uint64_t now) {
  return now >= __atomic_load_n(&ends_at, __ATOMIC_SEQ_CST);
}

bool is_released(void) {
  return __atomic_load_n(&state, __ATOMIC_SEQ_CST) == RELEASED;
}

/* A crash that follows the release has its own orphans. */
void end_orphans(void) {
  uint32_t released = RELEASED;
  (void)__atomic_compare_exchange_n(&state, &released, NONE, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
