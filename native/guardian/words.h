/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guardian's side of the shared memory (common/guardian-words.h). This file decides when the guardian may act on a
 * word. If the engine has no shared memory, the guardian notices only the death of the engine.
 */
#ifndef GUARDIAN_WORDS_H
#define GUARDIAN_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/guardian-words.h"
#include "plan.h"

/* Shared memory; NULL if the kernel gave none, and then only the death of the engine executes a plan. */
extern struct guardian_words *words;
/* Descriptor of the memory, for the engine; -1 without it. */
extern int words_fd;

/* Makes the memory. Removes what the environment says about another guardian's memory, clock and snapshot. */
void share_words(void);

/* The functions below require a guarded plan, except is_armed(). */

/* Returns true if the engine has armed this plan, and no newer one that the guardian has not read. */
bool is_armed(const struct plan *plan);
uint64_t deadline_of(const struct plan *plan);

/* Sets BUSY. Returns false if the engine has disarmed the plan or armed a newer one. */
bool mark_busy(const struct plan *plan);
/*
 * Replaces ARMED by EXECUTED and BUSY: from now on the engine reads in the word that it holds nothing. Returns false
 * like mark_busy().
 */
bool mark_executed(const struct plan *plan);
void clear_busy(const struct plan *plan);
/* Returns true if this plan is executed, and the engine has not acknowledged that. */
bool is_executed(const struct plan *plan);
/* Returns true if the engine has disarmed the unit, whichever plan it armed. */
bool was_disarmed(const struct plan *plan);

#endif
