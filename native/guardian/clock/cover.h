/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timer that wakes the engine if frames do not leave: 2.5 intervals after the last frame of any armed slot, and
 * immediately if the clock thread stops a slot. A guardian that stands still cannot delay it. The timer is not set with
 * each frame, only if it would otherwise fire within the next interval. Only the clock thread uses this file.
 */
#ifndef GUARDIAN_CLOCK_COVER_H
#define GUARDIAN_CLOCK_COVER_H

#include <stdint.h>

#include "order.h"

/* Makes the next keep_cover() look at all slots. */
void change_cover(void);
/* Makes the next keep_cover() wake the engine, because the clock thread has stopped a slot. */
void fire_cover(void);
/* Does the work of change_cover(), if the timer would fire before the next round of this order. */
void note_frame(const struct order *order, uint64_t now);

/* Sets the timer if it has to be set. */
void keep_cover(uint64_t now);

#endif
