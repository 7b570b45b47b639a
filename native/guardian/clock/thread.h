/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock thread: sends the frames of the engine's orders at their times (docs/adr/0086). The thread never allocates
 * memory, logs, opens a descriptor or uses netlink, because each of those may have to wait.
 */
#ifndef GUARDIAN_CLOCK_THREAD_H
#define GUARDIAN_CLOCK_THREAD_H

#include <stdbool.h>

/* True once the thread runs. */
extern bool clock_runs;

/*
 * Starts the thread and opens its descriptors. `realtime` is the priority; 0 = none. Requires shared memory. Logs why
 * there is no clock, which is then not offered to the engine.
 */
void start_clock(int realtime);

/* Does what is due, and waits for the next event. Only the thread calls it, and a fuzzer that has no thread. */
void turn_clock(void);

#endif
