/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the engine by the program that its path names now (docs/adr/0096). First the program rehearses its start
 * beside the engine. After the rehearsal the engine orders the replacement. This file decides the limit of time of a
 * rehearsal, and the engine's answers about it. restart.h decides how the next engine gets the addresses.
 */
#ifndef GUARDIAN_UPGRADE_H
#define GUARDIAN_UPGRADE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine.h"
#include "options.h"

/*
 * Stores an order for a rehearsal, or answers why not. Returns NULL, or the defect of the message of at least HEADER_SIZE
 * bytes.
 */
const char *request_rehearsal(const struct engine *engine, const unsigned char *bytes, size_t size);

/* Ends a rehearsal whose engine has died. The result of such a rehearsal is used for no other engine. */
void forget_rehearsal(void);

/*
 * Becomes the rehearsal, in a process made for it. The snapshot is in `snapshot_fd`, and the text of the program goes to
 * `output`. Ends if `guardian` has died.
 */
void run_rehearsal(const struct options *options, const sigset_t *mask, int output, pid_t guardian)
    __attribute__((noreturn));

/* Starts a stored rehearsal, and ends a rehearsal that lasts too long. */
void follow_rehearsal(const struct engine *engine);

/* Reports the end of a rehearsal to the engine. Ignores another child. */
void end_rehearsal(const struct engine *engine, pid_t pid, int status);

/* Returns the time of the next duty of follow_rehearsal(); UINT64_MAX = none. */
uint64_t rehearsal_ends_at(void);

/* Replaces the engine, or answers why not. Returns NULL, or the defect of the message of at least HEADER_SIZE bytes. */
const char *hand_over(struct engine *engine, const unsigned char *bytes, size_t size);

#endif
