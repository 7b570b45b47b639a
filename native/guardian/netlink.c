/* SPDX-License-Identifier: Apache-2.0 */
/* See netlink.h. */
#define _GNU_SOURCE
#include "netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "now.h"
#include "log.h"
#include "message.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

#define BATCH_BYTES (32u << 10)
#define ACK_SIZE 1024 /* with the request that it answers, if the kernel does not leave that out */

static int netlink_fd = -1;
static uint32_t sequence;
static double patience; /* ms that the remaining ACKs of one execution or renewal may take together */

/*
 * Sets a socket option. Every option that is set here has a working default, or its absence shows as an error of a
 * later send. A failure is no reason not to start.
 */
void set_option(int fd, int level, int name, int value) {
  (void)setsockopt(fd, level, name, &value, sizeof value);
}

void open_netlink(void) {
  if (netlink_fd >= 0) return;
  netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (netlink_fd < 0) return;
  set_option(netlink_fd, SOL_SOCKET, SO_RCVBUF, CHANNEL_BUFFER);
  set_option(netlink_fd, SOL_SOCKET, SO_RCVBUFFORCE, CHANNEL_BUFFER);
  set_option(netlink_fd, SOL_SOCKET, SO_SNDBUF, 2 * (int)MESSAGE_MAX);
  set_option(netlink_fd, SOL_SOCKET, SO_SNDBUFFORCE, 2 * (int)MESSAGE_MAX);
  set_option(netlink_fd, SOL_NETLINK, NETLINK_CAP_ACK, 1); /* an ACK need not carry the request */
  /* Without bind() the kernel chooses the port at the first request, and lists the socket only from then on. */
  const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
  (void)bind(netlink_fd, (const struct sockaddr *)&any, sizeof any);
}

void begin_outcome(struct outcome *outcome, double ack_limit_ms) {
  memset(outcome, 0, sizeof *outcome);
  patience = ack_limit_ms;
}

void note_error(struct outcome *outcome, const char *kind, uint16_t unit, uint32_t index, int number) {
  const size_t room = sizeof outcome->errors - outcome->errors_length;
  const int length = snprintf(outcome->errors + outcome->errors_length, room, "%s\"unit %u %s %u: %s\"",
                              outcome->errors_length > 0 ? "," : "", unit, kind, index, errno_name(number));
  if (length > 0 && (size_t)length < room)
    outcome->errors_length += (size_t)length;
  else
    outcome->errors[outcome->errors_length] = '\0';
}

static void record_answer(struct outcome *outcome, const struct batch *batch, int i, int number) {
  if (number == 0) {
    outcome->done++;
  } else if (number == EADDRNOTAVAIL || number == ENODEV) {
    outcome->absent++; /* the address or its interface is gone, as the plan wants */
  } else {
    outcome->failed++;
    note_error(outcome, "request", batch->asked[i].unit, batch->asked[i].index, number);
  }
}

int read_acks(struct outcome *outcome, struct batch *batch, const unsigned char *bytes, size_t size) {
  int taken = 0;
  size_t at = 0;
  while (size - at >= NLMSG_HDRLEN) {
    struct nlmsghdr header;
    memcpy(&header, bytes + at, sizeof header);
    if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > size - at) break;
    const uint32_t i = header.nlmsg_seq - batch->first;
    if (header.nlmsg_type == NLMSG_ERROR && header.nlmsg_len >= NLMSG_HDRLEN + sizeof(int) &&
        i < (uint32_t)batch->count && !batch->asked[i].answered) {
      int error;
      memcpy(&error, bytes + at + NLMSG_HDRLEN, sizeof error);
      batch->asked[i].answered = true;
      record_answer(outcome, batch, (int)i, -error);
      taken++;
    }
    const size_t step = NLMSG_ALIGN((size_t)header.nlmsg_len);
    if (step > size - at) break;
    at += step;
  }
  return taken;
}

/* Every ACK is a separate datagram; a single call reads all that are queued. Negative: errno is set, EAGAIN = none. */
static int receive_acks(struct outcome *outcome, struct batch *batch) {
  static unsigned char answers[BATCH_REQUESTS][ACK_SIZE];
  static struct mmsghdr messages[BATCH_REQUESTS];
  static struct iovec vectors[BATCH_REQUESTS];
  for (int i = 0; i < batch->count; i++) {
    vectors[i] = (struct iovec){answers[i], sizeof answers[i]};
    messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
  }
  const int count = recvmmsg(netlink_fd, messages, (unsigned)batch->count, MSG_DONTWAIT, NULL);
  int taken = 0;
  for (int i = 0; i < count; i++) taken += read_acks(outcome, batch, answers[i], messages[i].msg_len);
  return count < 0 ? count : taken;
}

static void await_acks(struct outcome *outcome, struct batch *batch) {
  int open = batch->count, number = ETIMEDOUT;
  while (open > 0) {
    const int taken = receive_acks(outcome, batch);
    if (taken >= 0) {
      open -= taken;
      continue;
    }
    if (errno == EINTR || errno == ENOBUFS) continue; /* an overrun loses some ACKs; the others still come */
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      number = errno;
      break;
    }
    if (patience <= 0) break;
    const double began = clock_ms(CLOCK_MONOTONIC);
    struct pollfd in = {.fd = netlink_fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&in, 1, (int)patience + 1);
    patience -= clock_ms(CLOCK_MONOTONIC) - began;
    if (ready == 0) break;
  }
  for (int i = 0; i < batch->count; i++)
    if (!batch->asked[i].answered) record_answer(outcome, batch, i, number);
}

void flush_batch(struct outcome *outcome, struct batch *batch) {
  if (batch->count == 0) return;
  struct sockaddr_nl kernel;
  struct msghdr header;
  memset(&kernel, 0, sizeof kernel);
  memset(&header, 0, sizeof header);
  kernel.nl_family = AF_NETLINK;
  header.msg_name = &kernel;
  header.msg_namelen = sizeof kernel;
  header.msg_iov = batch->vectors;
  header.msg_iovlen = (size_t)batch->count;
  ssize_t sent;
  do {
    sent = sendmsg(netlink_fd, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    const int number = errno;
    for (int i = 0; i < batch->count; i++) record_answer(outcome, batch, i, number);
  } else {
    await_acks(outcome, batch);
  }
  batch->count = 0;
  batch->size = 0;
}

/* Sets the sequence number, and that an ACK is wanted. Only the sender knows these. */
static void prepare_request(unsigned char *request) {
  struct nlmsghdr header;
  memcpy(&header, request, sizeof header);
  header.nlmsg_seq = ++sequence;
  header.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
  header.nlmsg_pid = 0;
  memcpy(request, &header, sizeof header);
}

void send_requests(struct plan *plan, uint32_t from, uint32_t to, struct outcome *outcome, struct batch *batch) {
  size_t at = plan->body;
  for (uint32_t i = 0; i < to; i++) {
    unsigned char *const request = plan->bytes + at + 4;
    const size_t room = padded_size(u32_at(plan->bytes + at), plan->size - at - 4);
    at = after_request(plan, at);
    if (i < from) continue;
    if (batch->count == BATCH_REQUESTS || (batch->count > 0 && batch->size + room > BATCH_BYTES))
      flush_batch(outcome, batch);
    prepare_request(request);
    if (batch->count == 0) batch->first = sequence;
    batch->vectors[batch->count].iov_base = request;
    batch->vectors[batch->count].iov_len = room; /* with the padding: the next message begins aligned */
    batch->asked[batch->count].unit = plan->unit;
    batch->asked[batch->count].index = i;
    batch->asked[batch->count].answered = false;
    batch->count++;
    batch->size += room;
    outcome->requests++;
  }
}
