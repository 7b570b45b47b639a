/* SPDX-License-Identifier: Apache-2.0 */
/* See lease.h. */
#include "lease.h"

#include <unistd.h>

#include "../now.h"
#include "../words.h"
#include "orphans.h"
#include "slot.h"
#include "sockets.h"
#include "table.h"

/*
 * Together they are shorter than the lifetime of an address (2 s) less the period of its renewals (0.67 s). With longer
 * times, a clock whose engine and executor stand still would advertise an address that the kernel has removed.
 */
#define PROOF_AGE (600 * NS_PER_MS) /* age of the proof at which the clock thread asks */
#define ANSWER_TIME (600 * NS_PER_MS)

/*
 * The engine's socket may get a packet a little later than the clock's socket. A proof counts only if it is newer than
 * the news by more than that.
 */
#define MARGIN (1 * NS_PER_MS)
#define RETRY (1 * NS_PER_MS)

static uint64_t unread_at; /* latest news of a slot that has a round; 0 = none */
static uint64_t ask_at; /* time to ask for a proof of that news; 0 if it was read */

static uint64_t proof_at(void) {
  return __atomic_load_n(&words->proof_at, __ATOMIC_SEQ_CST);
}

static uint64_t asked_at(void) {
  return __atomic_load_n(&words->asked_at, __ATOMIC_SEQ_CST);
}

static uint64_t age(uint64_t since, uint64_t now) {
  return now > since ? now - since : 0;
}

void begin_lease(void) {
  uint64_t asked = asked_at();
  if (asked != 0)
    (void)__atomic_compare_exchange_n(&words->asked_at, &asked, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  unread_at = ask_at = 0;
}

void expect_proof(uint64_t now) {
  unread_at = now;
  if (ask_at == 0) ask_at = now + MARGIN;
}

/* The next engine cannot have read what arrived before its start. */
static uint64_t counted_proof(void) {
  return are_orphans() ? last_proof() : proof_at();
}

bool is_unread(const struct order *order) {
  const uint64_t news = __atomic_load_n(&slot_of(order)->news_at, __ATOMIC_SEQ_CST);
  return (news > order->listens ? news : order->listens) + MARGIN > counted_proof();
}

bool is_lease_over(const struct order *order, uint64_t now) {
  if (are_orphans()) return is_adoption_over(now);
  const uint64_t asked = asked_at();
  return asked != 0 && age(asked > order->arrived ? asked : order->arrived, now) >= ANSWER_TIME;
}

static void ask(uint64_t now) {
  const uint64_t one = 1;
  __atomic_store_n(&words->asked_at, now, __ATOMIC_SEQ_CST);
  const ssize_t written = write(ask_fd, &one, sizeof one);
  (void)written; /* a full counter is a question that the engine has not read */
}

/* A question that the engine has not answered stands for all that follow. */
void keep_lease(uint64_t now) {
  if (next_round() == NULL || are_orphans()) return;
  const bool asked = asked_at() != 0;
  const bool unread = ask_at != 0 && unread_at + MARGIN > proof_at();
  if (!unread) ask_at = 0;
  if (!asked && ((unread && ask_at <= now) || age(proof_at(), now) >= PROOF_AGE)) ask(now);
  if (unread && ask_at <= now) ask_at = now + RETRY;
}

uint64_t lease_wake_at(uint64_t now) {
  if (next_round() == NULL || are_orphans()) return UINT64_MAX;
  const uint64_t asked = asked_at();
  uint64_t at = asked != 0 ? asked + ANSWER_TIME : proof_at() + PROOF_AGE;
  if (at <= now) at = now + RETRY; /* the order is newer than the question */
  return ask_at != 0 && ask_at < at ? ask_at : at;
}
