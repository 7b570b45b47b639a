/*
 * What the parts of the gauge share: the clock, the journal of what was seen, sockets that say when the kernel got a
 * packet. Decided here: the layout of a record, which bench/failover/journal.ts reads. Refuses to know what is measured.
 */
#ifndef GAUGE_H
#define GAUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef int64_t nanos; /* CLOCK_MONOTONIC, which all network namespaces share */

enum kind {
  KIND_BEGIN = 1,     /* number: 1 with SCHED_FIFO; at; other: the interval */
  KIND_SENT = 2,      /* a probe. number: errno, 0 when it left; value: its sequence; at; other: since when it was due */
  KIND_REPLY = 3,     /* number: who answered; value: the sequence; at: in the kernel; other: when it was read */
  KIND_ASKED = 4,     /* a question to everybody. number: errno; value: its sequence; at; other: since when it was due */
  KIND_CLAIM = 5,     /* an answer to it. value: the MAC; at: in the kernel; other: when it was read */
  KIND_ANNOUNCED = 6, /* a gratuitous ARP, an unsolicited advertisement. value: the MAC; at, other as above */
  KIND_END = 7,       /* value: records that found no room */
};

struct record {
  uint32_t kind;
  uint32_t number;
  uint64_t value;
  nanos at;
  nanos other;
};

struct packet {
  unsigned char bytes[512];
  size_t length;
  struct sockaddr_storage from;
  nanos at; /* when the kernel got it */
  nanos read_at;
};

/* gauge.c */
void fail(const char *action) __attribute__((noreturn));
void wrong_usage(void) __attribute__((noreturn));
nanos now(void);
/* Absolute ticks: a late one does not move the next. */
int open_ticks(nanos first, nanos interval);
uint64_t expired(int timer);
int end_signals(void);
bool become_fifo(void);
void enable(int fd, int level, int option, const char *action);
void enlarge_queue(int fd);
/* Also names the port; fails with a message when it is no address. */
socklen_t address_of(const char *host, const char *port, struct sockaddr_storage *result);
bool take(int fd, struct packet *packet);

/* journal.c */
void open_journal(void);
void note(enum kind kind, uint32_t number, uint64_t value, nanos at, nanos other);
/* Hands on what there is, at most every 20 ms, and never waits for the reader. */
void hand_on(nanos time);
void close_journal(void) __attribute__((noreturn));

/* respond.c, probe.c, ask.c */
int respond(uint32_t number, const char *port);
int probe(const char *address, const char *port, nanos interval, const char *fresh_on);
int ask(const char *interface, const char *address, nanos interval);

#endif
