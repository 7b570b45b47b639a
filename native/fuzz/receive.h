/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue of packets that the target `receive` reads in place of a socket, and its clocks. The file receive-queue.c fills
 * the buffers of the addon from the queue, and stands in for Node. The file receive.c decides what is in the queue.
 * Time stands still between two steps.
 */
#ifndef FUZZ_RECEIVE_H
#define FUZZ_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "../addon/handle.h"

#define BATCH 4u
#define SIZE 64u
#define QUEUE 8u

struct sent {
  unsigned char bytes[SIZE + 8];
  size_t length;
  int ttl;
  unsigned char from; /* last octet of the source */
  unsigned char to; /* last octet of the destination */
  uint32_t drops;
  double at; /* ms of CLOCK_REALTIME; 0 = no time stamp */
};

extern struct sent queue[QUEUE], taken[BATCH];
extern unsigned queued, waiting; /* in the queue; read and not delivered yet */
extern double monotonic, realtime;
extern int failure; /* errno of the next recvmmsg(); 0 = none */
extern struct handle handle;
extern unsigned char *meta, *bytes;

static inline void require(bool holds) {
  if (!holds) abort();
}

#endif
