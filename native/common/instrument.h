/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts that the observers of a LAN share (native/probe, and the benchmark's gauge in bench/native). The shared parts
 * are one clock, ticks at absolute times, sockets with kernel receive times, and a service that answers from the
 * address that was asked. The daemon never runs them. This file does not know what is measured.
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
  nanos at; /* time at which the kernel received the packet */
  nanos read_at;
};

/* A datagram, with the data for an answer from the address that it was sent to. */
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

/* Prints the program's name, the action and errno, and ends the program. */
void fail(const char *action) __attribute__((noreturn));
/* Prints the usage and ends the program. Each program defines its own. */
void wrong_usage(void) __attribute__((noreturn));
/* Ends the program if the text is no number from `low` to `high`. */
long read_number(const char *text, long low, long high);

nanos now(void);
/* Returns a timer with ticks at absolute times. A tick that is read late does not delay the next. */
int open_ticks(nanos first, nanos interval);
/* Returns how many ticks have come since the last call. */
uint64_t read_ticks(int timer);
/* Returns a signalfd for SIGTERM and SIGINT. */
int open_end_signals(void);
/* Sets SCHED_FIFO. Returns false with errno if that is not permitted. */
bool set_fifo(int priority);

void enable_option(int fd, int level, int option, const char *action);
void enlarge_queue(int fd);
socklen_t read_address(const char *host, const char *port, struct sockaddr_storage *result);
/* Returns a socket with receive times, for receive_packet(). */
int open_client(const struct sockaddr_storage *target);
bool is_same_address(const struct sockaddr_storage *one, const struct sockaddr_storage *other);
/* Returns false if the queue is empty. */
bool receive_packet(int fd, struct packet *packet);

/* Returns -1 if that family is switched off. */
int open_service(const char *host, const char *port);
/* Returns false if no datagram waits. */
bool receive_request(int fd, struct request *request);
/* Sends the request's bytes back, as the caller has changed them. */
void send_answer(int fd, struct request *request);

#endif
