/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the guardian shares with its engine. The shared memory has a word and a deadline for each unit, a
 * slot of the clock for each router, and a heartbeat of each side. This file defines the layout, the bits, and which
 * side writes which field. Guardian and engine use only atomic operations (GCC's __atomic, sequentially consistent:
 * nothing here is hot enough for less). This file does not know: what a cleanup plan or a frame contains, and when a
 * deadline is due.
 *
 * The memory is a memfd, sealed against a change of its size. The engine finds its descriptor's number in
 * HOLDFAST_GUARDIAN_WORDS. Untouched pages cost nothing. Times are CLOCK_MONOTONIC in nanoseconds; 0 = none.
 *
 *   word      bits 8 to 31: generation of the cleanup plan that the word belongs to (1 to 2^24 - 1)
 *     ARMED     The engine sets it before it sends the plan, and clears it before it removes an address.
 *     BUSY      The guardian sets and clears it around each change that it makes to the unit's addresses.
 *     EXECUTED  The guardian sets it before it executes the plan, together with BUSY and in place of ARMED. Only the
 *               engine clears it, once the engine knows that it holds no address of the unit.
 *   deadline  The engine writes it. While a slot of the unit is BUSY, the clock thread writes it.
 *
 * `executions` counts the plans that the guardian has begun to execute, each before its first address is removed. If
 * the count has not changed, an engine with many units need not read their words.
 *
 * The clock thread of the guardian sends the frames of a slot while the slot is armed (docs/adr/0086):
 *
 *   word      Bits 8 to 31 are the generation of the order that the word belongs to (message.h, kind 8).
 *     ARMED     The engine sets it before it sends the order. The engine clears it before it sends other frames itself.
 *     BUSY      The clock thread sets and clears it around each round of frames.
 *     STOPPED   The clock thread sets it if it ends the rounds itself. Arming clears it.
 *   sent_at   Time of the last frame. The engine writes it before it arms the slot. While the slot is BUSY, the
 *             clock thread writes it.
 *   news_at   Time at which the clock thread read the last packet of another router.
 *
 *   sent      The number of rounds since the memory was made.
 *   failed    The number of failed send calls.
 *   latest    Greatest lateness of a round, in ns. The engine reads it and sets it to 0.
 *
 * Proof that the engine has read everything:
 *
 *   proof_at  Moment before the engine found each of its sockets empty and no alarm overdue. Only the engine writes it.
 *   asked_at  Moment of a question of the clock thread; 0 = none. The engine clears it with a proof that is not older.
 *   clock_beat   Last turn of the clock thread.
 */
#ifndef HOLDFAST_GUARDIAN_WORDS_H
#define HOLDFAST_GUARDIAN_WORDS_H

#include <stdint.h>

#define WORDS_VARIABLE "HOLDFAST_GUARDIAN_WORDS"
/* "ASK,COVER": an eventfd for questions of the clock thread, and a timerfd for frames that do not leave. */
#define CLOCK_VARIABLE "HOLDFAST_GUARDIAN_CLOCK"
#define WORDS_MAGIC 0x33574648u /* "HFW3"; another layout gets another number */
#define WORDS_UNITS 65536u
#define CLOCK_SLOTS 16384u

#define WORD_ARMED 1u
#define WORD_BUSY 2u
#define WORD_EXECUTED 4u
#define WORD_STOPPED 8u
#define WORD_GENERATION 8 /* number of the lowest bit of the generation */
#define WORD_GENERATIONS 0xffffffu

struct guardian_unit {
  uint32_t word;
  uint32_t reserved;
  uint64_t deadline;
};

struct clock_slot {
  uint32_t word;
  uint32_t unit;
  uint64_t sent_at;
  uint64_t news_at;
  uint64_t sent;
  uint64_t failed;
  uint64_t latest;
  uint64_t reserved[2];
};

struct guardian_words {
  uint32_t magic;
  uint32_t units;
  uint64_t engine_beat;
  uint64_t guardian_beat;
  uint64_t executions;
  uint64_t proof_at;
  uint64_t asked_at;
  uint64_t clock_beat;
  uint64_t reserved;
  struct guardian_unit unit[WORDS_UNITS];
  struct clock_slot slot[CLOCK_SLOTS];
};

_Static_assert(sizeof(struct guardian_unit) == 16 && sizeof(struct clock_slot) == 64 &&
                   sizeof(struct guardian_words) == 64 + 16 * WORDS_UNITS + 64 * CLOCK_SLOTS,
               "both sides and the tests use these offsets");

#endif
