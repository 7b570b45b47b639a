/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The starter: a child of the guardian that starts the next engine (docs/adr/0095). A program inherits the seccomp
 * filter of the process that starts it, and an engine with the guardian's filter cannot run. The guardian forks it
 * before it confines itself. The starter only waits. If it is asked, it makes a process that is a child of the
 * guardian, not its own. The starter ends with the guardian, and ignores signals. A starter that does not answer within
 * 0.3 s is killed, and nothing is started again. A starter that answers with an error is kept.
 */
#ifndef GUARDIAN_CONFINE_STARTER_H
#define GUARDIAN_CONFINE_STARTER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "../options.h"

/* Forks the starter. Logs a failure: then no engine is started again. `arguments` are those of this process. */
void open_starter(const struct options *options, const sigset_t *mask, char **arguments);

/* Returns whether a next engine can be started. */
bool has_starter(void);

/* Notes the end of a child, which may be the starter. */
void note_end(pid_t pid);

/* Starts the rehearsal of an upgrade (upgrade.h) in the same way. Returns its process id, or -1 with errno. */
pid_t rehearse_by_starter(int output, int snapshot);

/*
 * Starts the next engine with these descriptors. Returns its process id, or -1 with errno. If the starter was killed
 * before its answer, a process may exist nevertheless.
 */
pid_t start_by_starter(int channel, int report, int snapshot);

#endif
