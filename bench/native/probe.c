/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the client: sends one datagram a tick to the virtual address, and records which node answered and when the
 * kernel received that answer. This file decides that with the option `fresh`, the neighbour entry is removed before
 * each probe, so that the kernel has to resolve the address again. This program does not know losses and gaps, nor
 * which node should answer: those are computed from the records.
 */
#include "gauge.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define LAST_ANSWERS_NS 200000000ll

/* Netlink message RTM_DELNEIGH that removes the neighbour entry of the target; built once. */
struct forget {
  struct nlmsghdr header;
  struct ndmsg neighbour;
  struct rtattr attribute;
  unsigned char address[16];
};

static int open_forget(const char *interface, const struct sockaddr_storage *target, struct forget *request) {
  memset(request, 0, sizeof *request);
  const size_t length = target->ss_family == AF_INET ? 4 : 16;
  if (length == 4)
    memcpy(request->address, (const unsigned char *)target + offsetof(struct sockaddr_in, sin_addr), length);
  else
    memcpy(request->address, (const unsigned char *)target + offsetof(struct sockaddr_in6, sin6_addr), length);
  request->attribute.rta_type = NDA_DST;
  request->attribute.rta_len = (unsigned short)RTA_LENGTH(length);
  request->neighbour.ndm_family = (unsigned char)target->ss_family;
  request->neighbour.ndm_ifindex = (int)if_nametoindex(interface);
  if (request->neighbour.ndm_ifindex == 0) fail("find that interface");
  request->header.nlmsg_len = (uint32_t)(offsetof(struct forget, address) + length);
  request->header.nlmsg_type = RTM_DELNEIGH;
  request->header.nlmsg_flags = NLM_F_REQUEST;
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) fail("open a netlink socket");
  return fd;
}

static void forget_neighbour(int fd, const struct forget *request) {
  char refused[256];
  (void)send(fd, request, request->header.nlmsg_len, MSG_DONTWAIT);
  /* If the neighbour entry is missing, the kernel reports that, and it is no error. */
  while (recv(fd, refused, sizeof refused, MSG_DONTWAIT | MSG_TRUNC) > 0) continue;
}

static void take_replies(int fd, const struct sockaddr_storage *target) {
  struct packet packet;
  for (int i = 0; i < DRAIN_MAX && receive_packet(fd, &packet); i++) {
    struct datagram datagram;
    /*
     * Only an answer from the address that was probed counts. An answer from another address would hide a broken
     * service.
     */
    if (packet.length != sizeof datagram || !is_same_address(&packet.from, target)) continue;
    memcpy(&datagram, packet.bytes, sizeof datagram);
    note(KIND_REPLY, (uint32_t)datagram.number, datagram.sequence, packet.at, packet.read_at);
  }
}

int probe(const char *address, const char *port, nanos interval, const char *fresh_on) {
  struct sockaddr_storage target;
  struct forget request;
  const socklen_t length = read_address(address, port, &target);
  const int forgetting = fresh_on == NULL ? -1 : open_forget(fresh_on, &target, &request);
  const int fd = open_client(&target);
  const bool fifo = stay_awake();
  const int signals = open_end_signals();
  const nanos began = now();
  nanos ended = INT64_MAX; /* time in ns after which no probe is sent */
  struct datagram datagram = {0, 0};
  nanos due = began;
  /*
   * Replies wait in the socket until the next tick. The kernel records when each reply arrived, and each wake-up costs
   * CPU time that a daemon may need.
   */
  struct pollfd watched[2] = {{.fd = open_ticks(began + interval, interval), .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  note(KIND_BEGIN, fifo ? 1 : 0, 0, began, interval);
  for (;;) {
    if (poll(watched, 2, 100) < 0 && errno != EINTR) fail("poll");
    const uint64_t ticked = read_ticks(watched[0].fd);
    const nanos first = due + interval; /* ticks after this one were missed */
    due += (nanos)ticked * interval;
    if (ticked > 0 && ended == INT64_MAX) {
      if (forgetting >= 0) forget_neighbour(forgetting, &request);
      const nanos at = now();
      const ssize_t sent = sendto(fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL,
                                  (const struct sockaddr *)&target, length);
      /*
       * The kernel refuses the probe, for example because the address is unreachable. The probe is lost, as for any
       * client.
       */
      note(KIND_SENT, sent < 0 ? (uint32_t)errno : 0, datagram.sequence++, at, first);
    }
    take_replies(fd, &target);
    const nanos time = now();
    hand_on(time);
    if (ended == INT64_MAX && watched[1].revents != 0) {
      ended = time;
      watched[1].fd = -1;
    }
    if (ended != INT64_MAX && time >= ended + LAST_ANSWERS_NS) close_journal();
  }
}
