/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heartbeats in shared memory, and the engine's wake-up after the machine was suspended. All functions require shared
 * memory.
 */
#ifndef GUARDIAN_HEARTBEAT_H
#define GUARDIAN_HEARTBEAT_H

#include <stdint.h>

#include "engine.h"

#define BEAT_MS 1000 /* longest time between two heartbeats; half a period while addresses are renewed */

/* Publishes the guardian's heartbeat. Logs once when the engine's has stopped, and once when it has resumed. */
void publish_beat(uint64_t now);

/* Returns the time of the engine's last heartbeat; 0 = none yet. */
uint64_t engine_beat(void);

void wake_engine_after_suspend(const struct engine *engine);

#endif
