/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares what the measuring programs share besides native/common/instrument.h: the record of an observation. This
 * file decides the layout of a record, which bench/failover/journal.ts reads. This file does not know what is measured.
 */
#ifndef GAUGE_H
#define GAUGE_H

#include "instrument.h"

enum kind {
  KIND_BEGIN = 1,     /* number: 1 with SCHED_FIFO; at; other: the interval */
  KIND_SENT = 2,      /* a probe. number: errno, 0 when it left; value: its sequence; at; other: its lateness */
  KIND_REPLY = 3,     /* an answer to a probe. number: the node; value: the probe's sequence; at: time of arrival in the kernel; other: time of reading */
  KIND_ASKED = 4,     /* a question to all hosts. number: errno; value: its sequence; at; other: its lateness */
  KIND_CLAIM = 5,     /* an answer to a question. value: the MAC; at and other as for KIND_REPLY */
  KIND_ANNOUNCED = 6, /* a gratuitous ARP, an unsolicited advertisement. value: the MAC; at and other as for KIND_REPLY */
  KIND_END = 7,       /* value: number of records that found no room */
};

struct record {
  uint32_t kind;
  uint32_t number;
  uint64_t value;
  nanos at;
  nanos other;
};

/* A probe of the client; with `number` set, the service's answer to that probe. */
struct datagram {
  uint64_t sequence;
  uint64_t number;
};

/* gauge.c */
/* Asks the kernel for SCHED_FIFO; returns true if this process has it. */
bool stay_awake(void);

/* journal.c */
void open_journal(void);
void note(enum kind kind, uint32_t number, uint64_t value, nanos at, nanos other);
/* Writes the collected records to standard output, at most once in 20 ms. Never waits for the reader of the output. */
void hand_on(nanos time);
void close_journal(void) __attribute__((noreturn));

/* respond.c, probe.c, ask.c */
int respond(uint32_t number, const char *port);
int probe(const char *address, const char *port, nanos interval, const char *fresh_on);
int ask(const char *interface, const char *address, nanos interval);

#endif
