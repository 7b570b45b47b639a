/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's process: its start, its end, and what the guardian passes on to it. The engine starts with the
 * guardian's capabilities, without a core dump unless --core, and its exit status becomes the guardian's.
 */
#ifndef GUARDIAN_PROCESS_H
#define GUARDIAN_PROCESS_H

#include <signal.h>
#include <stdbool.h>

#include "engine.h"
#include "options.h"

#define EXIT_NOT_STARTED 127

/*
 * Opens /dev/null for missing standard descriptors. Without this, a descriptor that is opened later could become one of
 * the three, and the log would go into the channel.
 */
bool fill_standard_descriptors(void);

/* Makes the capabilities of the guardian's file usable here, and passes them on to the engine. */
void use_file_capabilities(void);

/*
 * Sets the name of the process. `first_argument` is overwritten in place: pidof(8) reads it, while pgrep(1) and
 * killall(1) read the name.
 */
void set_process_name(const char *name, char *first_argument);

/* Sets SCHED_RR for this process. Threads and children stay SCHED_OTHER. */
void set_realtime(int priority, const char *complaint);

/* Lets a program inherit the descriptor, and names it in the environment variable. Returns false if that fails. */
bool pass_descriptor(int fd, const char *variable);

/*
 * Starts the engine with the signal mask `mask`. Returns false after it has logged why the engine did not start. A next
 * engine may fail later: read_report() logs it, and its exit status is EXIT_NOT_STARTED.
 */
bool start_engine(const struct options *options, const sigset_t *mask, struct engine *engine);

/* Reads the report of a next engine, once it can be read: the engine executes its program, or has failed to. */
void read_report(const struct options *options, struct engine *engine);

/* Limits the core dumps of this process and of the programs that it executes. */
void forbid_core_dump(void);

/*
 * Becomes the engine, in a process made for it. `channel` is the engine's end. A failure is written to `report`, which
 * closes as soon as the engine runs.
 */
void run_engine(const struct options *options, const sigset_t *mask, int channel, int report)
    __attribute__((noreturn));

/* Reaps every child, because PID 1 inherits orphans. Executes the plans before it reaps the engine. */
void reap_children(struct engine *engine);

/* Returns the exit status for the guardian: the engine's, or 128 + the number of the signal that ended it. */
int exit_status(const struct engine *engine);

#endif
