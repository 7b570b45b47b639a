/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of the log as a line for people, as src/app/log/log-format.ts makes the engine's: time, level, message, then
 * the fields as key=value. Decided here: how a value of JSON looks there. Pure but for the clock.
 */
#ifndef GUARDIAN_LOG_TEXT_H
#define GUARDIAN_LOG_TEXT_H

#include <stdbool.h>

#include "log.h"

/*
 * Replaces the JSON of `line`, which has no end yet, by a whole line. `for_journal`: begins with the priority in the
 * form of sd-daemon(3) and leaves out the time, which the journal has.
 */
void make_text(struct line *line, bool for_journal);

#endif
