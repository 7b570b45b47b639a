/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the engine again after a crash, without a move of its addresses (docs/adr/0088). This file decides which
 * crash may be followed by a restart, how long the addresses wait for the next engine, and what ends the wait. While
 * the addresses wait, the clock thread sends the frames of the dead engine (clock/orphans.h). This file does not know
 * what a snapshot contains, or what the next engine does with it.
 */
#ifndef GUARDIAN_RESTART_H
#define GUARDIAN_RESTART_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "options.h"

/* Descriptor of a memfd with the snapshot for the next engine; -1 = the next engine gets none. */
extern int snapshot_fd;

/* Stores the snapshot of a message of at least HEADER_SIZE bytes. Returns NULL, or the defect of the message. */
const char *store_snapshot(const unsigned char *bytes, size_t size);

/* Returns NULL, or the defect of a message with a snapshot, of at least HEADER_SIZE bytes. */
const char *check_snapshot(const unsigned char *bytes, size_t size);

/*
 * Makes `snapshot_fd` of a checked message, for an engine that follows the end of another one at `died_at` ns with that
 * wait status. `replaces`: the end was ordered. Returns false if that fails. close_snapshot() closes it.
 */
bool open_snapshot(const unsigned char *bytes, size_t size, uint64_t died_at, int status, bool replaces);
void close_snapshot(void);

/*
 * Lets the addresses of an engine that has just died wait for the next one. Returns false, and changes nothing, if one
 * of them must not wait. The caller then executes all plans.
 */
bool begin_restart(struct engine *engine);

/*
 * Kills an engine that another one replaces, and lets its addresses wait for the next one. Returns NULL, or the reason
 * why the engine is not replaced; then nothing is changed but the snapshot, which is forgotten.
 */
const char *begin_replacement(struct engine *engine);

/* Starts the next engine if the addresses wait for one. Requires an engine that was reaped. Returns true if it started. */
bool restart_engine(const struct options *options, const sigset_t *mask, struct engine *engine);

/* Ends the wait: the engine has settled, or its time is over. */
void follow_restart(struct engine *engine);

/* Lets the clock thread go on during the wait. Requires that the executor has renewed its addresses. */
void lend_time(const struct engine *engine, uint64_t now);

/* Ends the wait because of something that forbids it. Executes the plans that no engine has replaced. */
void end_restart(struct engine *engine, const char *why);

/* Returns the time of the next duty of follow_restart() or lend_time(); UINT64_MAX = none. */
uint64_t restart_ends_at(const struct engine *engine);

#endif
