/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the watches of a socket, and the comparison of received packets with them. repeated.h has the methods for
 * JavaScript. A deadline is the time of the last repetition plus the delay of its watch.
 */
#ifndef ADDON_REPETITION_H
#define ADDON_REPETITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handle.h"
#include "metadata.h"

#define NUMBERS 256u
#define LONGEST_PACKET 1500u
#define MOST_BOUNDS 32u
#define CALM_LEAST 8u

struct watch {
  unsigned char bytes[LONGEST_PACKET];
  size_t length; /* 0 = no watch */
  unsigned char source[META_SOURCE_MAX];
  size_t source_length;
  unsigned char destination[16];
  int32_t ttl;
  double heard_at, until, within, delay; /* ms */
  double count, sum;
  unsigned bounds;
  double bound[MOST_BOUNDS];
  double cell[MOST_BOUNDS + 1];
};

struct repeated {
  double timer_at;   /* time for which the timer is set; INFINITY = none */
  double offset;     /* CLOCK_REALTIME minus CLOCK_MONOTONIC at the time empty_at */
  double empty_at;   /* time before the receive call that last found the end of the queue */
  double deferred_at; /* time of the last beginning of deferred reading */
  double until;      /* while reading is deferred: the earliest end of a watch */
  uint32_t overflow; /* the kernel's counter of dropped packets in the last packet */
  unsigned calm;     /* wake-ups in a row in which only repetitions arrived */
  unsigned calm_wanted; /* so many of them before reading is deferred */
  bool is_empty;     /* the last receive call found the end of the queue */
  bool is_refused;   /* the present watches do not allow deferred reading (defer.h) */
  double deadline[NUMBERS]; /* INFINITY = no watch */
  struct watch watch[NUMBERS];
};

/* CLOCK_MONOTONIC and CLOCK_REALTIME in ms, read together before a receive call. */
struct clocks {
  double monotonic;
  double realtime;
};

struct clocks read_both_clocks(void);

/* The watches are about to change: each packet wakes the event loop, until the new watches have been calm for a time. */
void change_watches(struct handle *h);

/*
 * Marks the repetitions among the packets from `from` to `to` of the last batch (FLAG_REPEATED), and moves their
 * deadlines. `empty`: the receive call found the end of the queue. Does nothing for a socket without watches.
 */
void take_repeated(struct handle *h, unsigned char *meta, const unsigned char *data, unsigned from, unsigned to,
                   struct clocks before, bool empty);

void set_deadline_timer(const struct handle *timer, struct repeated *own, double at);

/* is_news of a socket with watches: reads a batch. Returns whether a packet, or an error, waits for JavaScript. */
bool has_news(struct handle *h);

/*
 * is_news of the timer of such a socket: returns whether a deadline has passed. If no deadline has passed, is_news sets
 * the timer again.
 */
bool is_deadline_due(struct handle *timer);

#endif
