/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when the engine is gone or absent, and has its plans executed. Gone: its process has ended, or its end of the
 * channel is closed. Absent: it lives, but a deadline has passed. All messages that the engine sent before are read
 * first, because the guardian may be the slow one.
 */
#ifndef GUARDIAN_ABSENCE_H
#define GUARDIAN_ABSENCE_H

#include <stdint.h>

#include "engine.h"

/* Executes all plans, once, unless the addresses wait for the next engine. Closes the channel. */
void handle_engine_gone(struct engine *engine);

/* Executes the plans whose deadline has passed. Requires shared memory. */
void enforce_deadlines(struct engine *engine);

/* Returns when the next deadline, renewal or heartbeat is due. Requires shared memory. */
uint64_t next_duty_at(uint64_t now);

#endif
