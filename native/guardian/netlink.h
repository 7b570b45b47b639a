/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the rtnetlink requests of cleanup plans in batches, and reads their ACKs. A request that fails stops no other,
 * and all ACKs of one execution together have a time limit. This file does not know what a request asks for.
 */
#ifndef GUARDIAN_NETLINK_H
#define GUARDIAN_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "plan.h"

#define BATCH_REQUESTS 64

/* Results of an execution or a renewal so far. */
struct outcome {
  unsigned plans, requests, done, absent, failed, packets, sent;
  char errors[2048]; /* JSON strings, separated by commas */
  size_t errors_length;
};

/* Requests that wait for their ACK. */
struct batch {
  struct iovec vectors[BATCH_REQUESTS];
  struct {
    uint16_t unit;
    uint32_t index;
    bool answered;
  } asked[BATCH_REQUESTS];
  int count;
  size_t size;
  uint32_t first; /* sequence number of the first request */
};

/* Opens the socket. Does nothing if it is open. */
void open_netlink(void);

void set_option(int fd, int level, int name, int value);

/* Empties `outcome`. The ACKs of later requests may take `ack_limit_ms` together. */
void begin_outcome(struct outcome *outcome, double ack_limit_ms);
/* Adds an error to the list. An error that does not fit is left out. */
void note_error(struct outcome *outcome, const char *kind, uint16_t unit, uint32_t index, int number);

/*
 * Sends the requests `from` to `to` - 1, counted from the plan's first. Requests that do not fill a batch wait for
 * flush_batch().
 */
void send_requests(struct plan *plan, uint32_t from, uint32_t to, struct outcome *outcome, struct batch *batch);
void flush_batch(struct outcome *outcome, struct batch *batch);

/* Reads the ACKs of one datagram. Returns how many belong to the batch. */
int read_acks(struct outcome *outcome, struct batch *batch, const unsigned char *bytes, size_t size);

#endif
