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
  double came_at; /* ms of CLOCK_MONOTONIC */
  bool is_dated; /* the time stamp is that of came_at */
};

extern struct sent queue[QUEUE], taken[BATCH];
extern unsigned queued, waiting; /* in the queue; read and not delivered yet */
extern double monotonic, realtime;
extern int failure; /* errno of the next recvmmsg(); 0 = none */
extern void (*before_batch)(void); /* called before a batch overwrites the one before */
extern unsigned news_queued; /* packets in the news socket */
extern bool polled, reported; /* the event loop watches the socket; JavaScript will be called soon */
extern struct handle handle, timer, news_socket;
extern unsigned char *meta, *bytes;

/* Returns whether one packet says the same as the other. */
bool is_like(const struct sent *one, const struct sent *other);
/* Returns the VRID of a packet, or -1. */
int vrid_of(const struct sent *packet);
/* Writes TTL, source and destination to the header of an IPv4 packet, from which the kernel takes them. */
void write_header(struct sent *packet);
/* Changes one octet or property of a packet, as the step of an input says. */
void change_packet(struct sent *packet, const uint8_t *change);

/* Notes that no packet is older than `at`. */
void mark_empty(double at);
/* Returns the time of a packet on CLOCK_MONOTONIC. Aborts if one step of the clock made the packet older than it is. */
double time_of(const struct sent *packet);
/* Steps CLOCK_REALTIME. */
void move_clock(unsigned ms, bool back);

/* Puts the packet into the news socket if its filter accepts the packet. */
void filter_news(const struct sent *packet);

static inline void require(bool holds) {
  if (!holds) abort();
}

#endif
