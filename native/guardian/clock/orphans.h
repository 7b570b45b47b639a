/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders without an engine: between the crash of an engine and the adoption by the next one, the clock thread sends
 * their frames. News stops the frames of its unit for good, because no engine reads it. A proof of the
 * next engine does not count, because that engine cannot have read what arrived before its start.
 */
#ifndef GUARDIAN_CLOCK_ORPHANS_H
#define GUARDIAN_CLOCK_ORPHANS_H

#include <stdbool.h>
#include <stdint.h>

#include "../now.h"

/* The executor thread's side. */
/* The engine has died: its orders are sent until `until`. */
void adopt_orphans(uint64_t until);
/* Moves the end of that time. */
void lend_to_orphans(uint64_t until);
/* The next engine has read its sockets, or the plans of the orders were executed. */
void release_orphans(void);

/* The clock thread's side. */
bool are_orphans(void);
/* Returns the newest proof of the dead engine. Requires orphans. */
uint64_t last_proof(void);
/* Returns true if the time that the executor has lent is over. */
bool is_adoption_over(uint64_t now);
/* Returns true from release_orphans() until end_orphans(). */
bool is_released(void);
/* The news up to the release has been read. */
void end_orphans(void);

#endif
