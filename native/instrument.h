/*
 * What the programs share that look at a LAN (probe.c here, the benchmark's gauge in bench/native): one clock, ticks on
 * absolute times, sockets that say when the kernel got a packet, and a service that answers from the address that was
 * asked. Refuses to know what is measured. The daemon never runs any of it.
 */
#ifndef INSTRUMENT_H
#define INSTRUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define EXIT_USAGE 64
#define SECOND 1000000000ll
#define DRAIN_MAX 4096 /* packets per wake-up, so that a flood cannot stop the ticks */
#define PACKET_MAX 512

typedef int64_t nanos; /* CLOCK_MONOTONIC, which all network namespaces share */

struct packet {
  unsigned char bytes[PACKET_MAX + 1]; /* a zero follows the last */
  size_t length;
  struct sockaddr_storage from;
  nanos at; /* when the kernel got it */
  nanos read_at;
};

/* A datagram, and what it takes to answer it from the address that it was sent to. */
struct request {
  unsigned char bytes[PACKET_MAX];
  size_t length;
  struct sockaddr_storage from;
  union {
    size_t align;
    unsigned char bytes[256];
  } control;
  size_t control_length;
};

/* Both name the program and end it. */
void fail(const char *action) __attribute__((noreturn));
/* Of the program itself. */
void wrong_usage(void) __attribute__((noreturn));
long number_in(const char *text, long low, long high);

nanos now(void);
/* A late tick does not move the next. */
int open_ticks(nanos first, nanos interval);
uint64_t expired(int timer);
int end_signals(void);
/* False where it is not permitted; errno says why. */
bool become_fifo(int priority);

void enable(int fd, int level, int option, const char *action);
void enlarge_queue(int fd);
socklen_t address_of(const char *host, const char *port, struct sockaddr_storage *result);
/* One that notes receive times, for take(). */
int open_client(const struct sockaddr_storage *target);
bool same_address(const struct sockaddr_storage *one, const struct sockaddr_storage *other);
/* False when the queue is empty. */
bool take(int fd, struct packet *packet);

/* -1 when that family is switched off. */
int open_service(const char *host, const char *port);
/* False when there is none. */
bool take_request(int fd, struct request *request);
/* With what its bytes are by now. */
void answer(int fd, struct request *request);

#endif
