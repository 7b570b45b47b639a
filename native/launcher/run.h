/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a program: its start, its output, its end. A run has ended when no process of it is left. The launcher is
 * the reaper of all descendants (PR_SET_CHILD_SUBREAPER), so a new session or a double fork is no way out. With --spare
 * this holds only for a run that was ordered to end: a program that ends by itself may have started a service, which
 * stays as a survivor.
 */
#ifndef LAUNCHER_RUN_H
#define LAUNCHER_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "programs.h"

#define OUTPUT_KEPT 1024u /* bytes of output that the answer contains */
#define OUTPUT_LIMIT (1u << 20) /* bytes of output, then the run is killed */

struct run {
  bool spares_survivors; /* --spare */
  bool has_survivor; /* a process of a run that ended by itself; the launcher takes no more orders */
  bool is_under_way; /* some process of it is left */
  bool was_ordered_to_end; /* true after SIGTERM or SIGKILL was sent to it */
  pid_t leader; /* 0 = none, or reaped */
  int status; /* status from waitpid(2) of the leader, after it has ended */
  int output; /* pipe from the program; -1 = closed */
  int failure; /* pipe with the errno of an exec that failed; -1 = closed */
  uint32_t written;
  char kept[OUTPUT_KEPT];
};

extern struct run run;

/* Starts a run. Answers NOT_STARTED if it cannot. */
void start_run(const struct program *program);

/* Sends SIGTERM to the program's group. */
void terminate_run(void);

/* Kills all processes of the run. Returns false if the kernel does not list them. */
bool kill_run(void);

/* Reads what the program has written. Kills a run that exceeds OUTPUT_LIMIT. */
void read_output(void);

/* Reaps every process of the run that has ended, and answers once none is left. */
void reap_run(void);

/* Reads the output of survivors until they close it. Closes the channel, so that the next launcher can have it. */
void read_for_survivors(void);

#endif
