/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream to the daemon, descriptor 3. This file defines the bytes of orders and answers.
 * src/healthcheck/programs/launcher-channel.ts has the other side.
 *
 * Orders: a byte of 0x80 + N runs the program N, counted from 0 (ignored while a run is under way). 'n' and one more
 * byte set the number. 't' sends SIGTERM to the program's group. 'k' sends SIGKILL to all processes of the run. At the
 * end of file everything is killed that belongs to a run under way, then the launcher ends. Answers, native byte order:
 *   @0 u8 kind: 0 ready, 1 exited, 2 killed by a signal, 3 not started, 4 SIGTERM sent (answers 't'), 5 cannot become
 *               that user
 *   @1 u8 bit 0: more output than OUTPUT_LIMIT, bit 1: the launcher takes no more orders
 *   @2 u16 length of the output that follows    @4 i32 exit status, signal or errno
 * 1 to 3 are sent when no process of the run is left.
 */
#ifndef LAUNCHER_CHANNEL_H
#define LAUNCHER_CHANNEL_H

#include <stdbool.h>

#define CHANNEL 3

enum kind { READY, EXITED, KILLED, NOT_STARTED, TERM_SENT, REFUSED };

/* True once the launcher is to end: the channel has closed, or SIGTERM came. */
extern bool leaving;

/* Sends an answer with the output of the run so far. If the channel is closed, the launcher leaves. */
void send_answer(enum kind kind, int value);

void read_orders(void);

#endif
