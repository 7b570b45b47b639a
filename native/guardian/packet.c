/* SPDX-License-Identifier: Apache-2.0 */
/* See packet.h. */
#define _GNU_SOURCE
#include "packet.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "message.h"

#define PROTOCOL 112
#define TRAFFIC_CLASS 0xc0
#define HOPS 255
#define SEND_TRIES 4 /* tries if the device queue is full (ENOBUFS), a millisecond apart */

static int raw4_fd = -1, raw6_fd = -1;

int open_raw_socket(int family) {
  struct sock_filter nothing = {BPF_RET | BPF_K, 0, 0, 0};
  const struct sock_fprog program = {1, &nothing};
  const int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, PROTOCOL);
  if (fd < 0) return -1;
  (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  if (family == AF_INET) {
    set_option(fd, IPPROTO_IP, IP_TTL, HOPS);
    set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, HOPS);
    set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
    set_option(fd, IPPROTO_IP, IP_TOS, TRAFFIC_CLASS);
  } else {
    set_option(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, HOPS);
    set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOPS);
    set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
    set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, TRAFFIC_CLASS);
  }
  return fd;
}

void open_raw_sockets(void) {
  if (raw4_fd < 0) raw4_fd = open_raw_socket(AF_INET);
  if (raw6_fd < 0) raw6_fd = open_raw_socket(AF_INET6);
}

/* A packet with its destination and control messages, as sendmsg() takes it. */
struct outgoing {
  union {
    struct sockaddr_in to4;
    struct sockaddr_in6 to6;
  } to;
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int))];
  struct iovec vector;
  struct msghdr header;
};

static void add_control(struct outgoing *out, int level, int type, const void *value, size_t size) {
  struct cmsghdr *const message = (struct cmsghdr *)(out->control + out->header.msg_controllen);
  message->cmsg_level = level;
  message->cmsg_type = type;
  message->cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(message), value, size);
  out->header.msg_controllen += CMSG_SPACE(size);
}

static void address_ipv4(struct outgoing *out, const unsigned char *record, uint32_t index) {
  struct in_pktinfo packet;
  memset(&packet, 0, sizeof packet);
  packet.ipi_ifindex = (int)index;
  memcpy(&packet.ipi_spec_dst, record + 8, sizeof packet.ipi_spec_dst);
  out->to.to4.sin_family = AF_INET;
  memcpy(&out->to.to4.sin_addr, record + 24, sizeof out->to.to4.sin_addr);
  out->header.msg_namelen = sizeof out->to.to4;
  add_control(out, IPPROTO_IP, IP_PKTINFO, &packet, sizeof packet);
}

static void address_ipv6(struct outgoing *out, const unsigned char *record, uint32_t index) {
  struct sockaddr_in6 *const to = &out->to.to6;
  struct in6_pktinfo packet;
  memset(&packet, 0, sizeof packet);
  packet.ipi6_ifindex = index;
  memcpy(&packet.ipi6_addr, record + 8, sizeof packet.ipi6_addr);
  to->sin6_family = AF_INET6;
  memcpy(&to->sin6_addr, record + 24, sizeof to->sin6_addr);
  if (IN6_IS_ADDR_LINKLOCAL(&to->sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&to->sin6_addr)) to->sin6_scope_id = index;
  out->header.msg_namelen = sizeof *to;
  add_control(out, IPPROTO_IPV6, IPV6_PKTINFO, &packet, sizeof packet);
}

/* Source, interface and hops are control messages: no bind, one socket for all. */
int try_packet(int fd, const unsigned char *record) {
  struct outgoing out;
  const bool v4 = record[0] == 4;
  const int hops = record[1];
  const uint32_t index = u32_at(record + 4);
  memset(&out, 0, sizeof out);
  out.vector = (struct iovec){(unsigned char *)record + PACKET_SIZE, u32_at(record + 40)};
  out.header.msg_name = &out.to;
  out.header.msg_iov = &out.vector;
  out.header.msg_iovlen = 1;
  out.header.msg_control = out.control;
  if (v4)
    address_ipv4(&out, record, index);
  else
    address_ipv6(&out, record, index);
  /* 0: the hop limit of the socket applies. */
  if (hops != 0) add_control(&out, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, &hops, sizeof hops);
  while (sendmsg(fd, &out.header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

/* Returns 0 or errno. */
static int send_packet(const unsigned char *record) {
  for (int tries = 1;; tries++) {
    const int number = try_packet(record[0] == 4 ? raw4_fd : raw6_fd, record);
    if ((number != ENOBUFS && number != EAGAIN) || tries == SEND_TRIES) return number;
    const struct timespec pause = {0, 1000000};
    (void)nanosleep(&pause, NULL);
  }
}

void send_packets(const struct plan *plan, struct outcome *outcome) {
  size_t at = plan->body;
  for (uint64_t i = 0; i < (uint64_t)plan->requests + plan->renewals; i++) at = after_request(plan, at);
  for (uint32_t i = 0; i < plan->packets; i++) {
    const unsigned char *const record = plan->bytes + at;
    const int number = send_packet(record);
    outcome->packets++;
    if (number == 0)
      outcome->sent++;
    else
      note_error(outcome, "packet", plan->unit, i, number);
    at += PACKET_SIZE + padded_size(u32_at(record + 40), plan->size - at - PACKET_SIZE);
  }
}
