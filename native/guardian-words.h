/*
 * The memory that the guardian shares with its engine: one word and one deadline for each unit of the last will, and a
 * beat of either side. Decided here: the layout, the bits, and who may write what. Every field is read and written with
 * atomic operations only (GCC's __atomic, sequentially consistent: nothing here is hot enough for less).
 * Refuses to know: what a will says, and when a deadline is due.
 *
 * A memfd, sealed against a change of size; the engine finds its number in HOLDFAST_GUARDIAN_WORDS. Untouched pages cost
 * nothing. Moments are CLOCK_MONOTONIC in nanoseconds, 0 = none.
 *
 *   word      bits 8-31: generation, that of the will which it speaks of (1 to 2^24 - 1)
 *     ARMED     set by the engine before it sends the will, cleared by the engine before it takes an address off
 *     BUSY      set and cleared by the guardian around what it does to the unit's addresses
 *     EXECUTED  set by the guardian, together with BUSY and instead of ARMED, before it executes; cleared by the engine
 *               alone, when it has understood that it no longer owns anything
 *   deadline  written by the engine alone
 *
 * executions counts the words that the guardian has claimed, each before its first address goes: one look at it tells an
 * engine of many units that it need not look at all of their words.
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
#define WORD_GENERATION 8 /* its first bit */
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
               "both sides and the tests count on these offsets");

#endif
