/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals for the engine. A signal that would end an engine that is still starting waits until the engine is ready.
 * SIGTERM and SIGINT never wait, because an engine that is not ready has nothing to clean up.
 */
#ifndef GUARDIAN_SIGNALS_H
#define GUARDIAN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "engine.h"

/*
 * Blocks the signals that the guardian handles, and stores the former mask. Call it first: a signal that comes before
 * the engine runs then waits for it.
 */
bool block_signals(sigset_t *blocked, sigset_t *before);

/* Reads all signals that wait at the signalfd, and forwards or holds each. */
void handle_signals(int fd, struct engine *engine);

/* Forwards the held signals once the engine is ready, or after HOLD_MS. */
void release_held_signals(struct engine *engine);

#endif
