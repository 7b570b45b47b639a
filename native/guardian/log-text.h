/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a line of the log into text for people, in the format of src/app/log/log-format.ts: time, level, message, then
 * the fields as key=value. This file decides how a JSON value appears there. Pure, except for the clock.
 */
#ifndef GUARDIAN_LOG_TEXT_H
#define GUARDIAN_LOG_TEXT_H

#include <stdbool.h>

#include "log.h"

/*
 * Replaces the JSON of `line`, which has no end yet, by a whole line. With `for_journal` it begins with the priority in
 * the form of sd-daemon(3) and has no time, because the journal adds one.
 */
void make_text(struct line *line, bool for_journal);

#endif
