/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the guardian shares with its engine: one word and one deadline for each unit, and a heartbeat of each
 * side. Decided here: the layout, the bits, and which side writes which field. Both sides use only atomic operations
 * (GCC's __atomic, sequentially consistent: nothing here is hot enough for less).
 * Does not know: what a cleanup plan contains, and when a deadline is due.
 *
 * The memory is a memfd, sealed against a change of its size. The engine finds its descriptor's number in
 * HOLDFAST_GUARDIAN_WORDS. Untouched pages cost nothing. Times are CLOCK_MONOTONIC in nanoseconds; 0 = none.
 *
 *   word      bits 8 to 31: generation of the cleanup plan that the word belongs to (1 to 2^24 - 1)
 *     ARMED     The engine sets it before it sends the plan, and clears it before it removes an address.
 *     BUSY      The guardian sets and clears it around each change that it makes to the unit's addresses.
 *     EXECUTED  The guardian sets it before it executes the plan, together with BUSY and in place of ARMED. Only the
 *               engine clears it, once the engine knows that it holds no address of the unit.
 *   deadline  Only the engine writes it.
 *
 * `executions` counts the plans that the guardian has begun to execute, each before its first address is removed. If
 * the count has not changed, an engine with many units need not read their words.
 */
#ifndef HOLDFAST_GUARDIAN_WORDS_H
#define HOLDFAST_GUARDIAN_WORDS_H

#include <stdint.h>

#define WORDS_VARIABLE "HOLDFAST_GUARDIAN_WORDS"
#define WORDS_MAGIC 0x32574648u /* "HFW2"; another layout gets another number */
#define WORDS_UNITS 65536u

#define WORD_ARMED 1u
#define WORD_BUSY 2u
#define WORD_EXECUTED 4u
#define WORD_GENERATION 8 /* number of the lowest bit of the generation */
#define WORD_GENERATIONS 0xffffffu

struct guardian_unit {
  uint32_t word;
  uint32_t reserved;
  uint64_t deadline;
};

struct guardian_words {
  uint32_t magic;
  uint32_t units;
  uint64_t engine_beat;
  uint64_t guardian_beat;
  uint64_t executions;
  uint64_t reserved[4];
  struct guardian_unit unit[WORDS_UNITS];
};

_Static_assert(sizeof(struct guardian_unit) == 16 && sizeof(struct guardian_words) == 64 + 16 * WORDS_UNITS,
               "both sides and the tests use these offsets");

#endif
