/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager (sd_notify(3)). Only the guardian sends, because a message of the engine would come from the
 * wrong process (NotifyAccess=main), and a watchdog message needs an engine whose main thread turns.
 */
#ifndef GUARDIAN_MANAGER_H
#define GUARDIAN_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

/* In the engine's environment if a service manager listens. */
#define MANAGER_VARIABLE "HOLDFAST_SERVICE_MANAGER"

/* Takes the socket's name and the watchdog's time from the environment. Call before the engine starts. */
void open_manager(void);

/* Returns true if a service manager waits for the message that the engine runs. */
bool manager_wants_ready(void);
/* Returns true if a service manager wants watchdog messages (WatchdogSec=). */
bool manager_has_watchdog(void);

/* Sends without waiting. A failure is logged once, until a message gets through. */
void notify_manager(const void *text, size_t length);
void notify_ready(void);
void feed_watchdog(const struct engine *engine, uint64_t now);

/* Returns when feed_watchdog() has something to do; UINT64_MAX = at a later heartbeat. */
uint64_t next_feed_at(uint64_t now);

#endif
