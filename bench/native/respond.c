/*
 * The service behind the virtual address: answers each datagram, from the address that it was sent to, with the
 * sequence that it carries and this node's number. Refuses to know who should have the address: where the kernel does
 * not have it any more, silence is the right answer.
 */
#include "gauge.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_MAX 4096

static int open_service(const char *any, const char *port) {
  struct sockaddr_storage address;
  const socklen_t length = address_of(any, port, &address);
  const int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    if (errno == EAFNOSUPPORT) return -1; /* IPv6 is switched off */
    fail("open a socket");
  }
  if (address.ss_family == AF_INET6) {
    enable(fd, IPPROTO_IPV6, IPV6_V6ONLY, "separate IPv6 from IPv4");
    enable(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, "learn the address that was asked");
  } else {
    enable(fd, IPPROTO_IP, IP_PKTINFO, "learn the address that was asked");
  }
  enlarge_queue(fd);
  if (bind(fd, (const struct sockaddr *)&address, length) == 0) return fd;
  if (errno != EADDRNOTAVAIL || address.ss_family != AF_INET6) fail("bind");
  (void)close(fd);
  return -1;
}

/* What came in goes back out: the address that was asked becomes the source; the interface is left to routing. */
static void turn(struct msghdr *message) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      struct in_pktinfo info;
      memcpy(&info, CMSG_DATA(c), sizeof info);
      info.ipi_spec_dst = info.ipi_addr;
      info.ipi_ifindex = 0;
      memcpy(CMSG_DATA(c), &info, sizeof info);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      struct in6_pktinfo info;
      memcpy(&info, CMSG_DATA(c), sizeof info);
      info.ipi6_ifindex = 0;
      memcpy(CMSG_DATA(c), &info, sizeof info);
    }
  }
}

static void answer_all(int fd, uint32_t number) {
  for (int i = 0; i < DRAIN_MAX; i++) {
    struct {
      uint64_t sequence;
      uint64_t number;
    } datagram = {0, 0};
    union {
      struct cmsghdr align;
      char bytes[256];
    } control;
    struct sockaddr_storage peer;
    struct iovec vector = {&datagram, sizeof datagram};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    memset(&control, 0, sizeof control);
    message.msg_name = &peer;
    message.msg_namelen = sizeof peer;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    const ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return; /* empty, or an error that the next datagram forgets */
    if (length != (ssize_t)sizeof datagram) continue;
    datagram.number = number;
    message.msg_flags = 0;
    turn(&message);
    (void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

int respond(uint32_t number, const char *port) {
  const char *const any[2] = {"0.0.0.0", "::"};
  struct pollfd watched[2];
  nfds_t count = 0;
  for (int i = 0; i < 2; i++) {
    const int fd = open_service(any[i], port);
    if (fd >= 0) watched[count++] = (struct pollfd){.fd = fd, .events = POLLIN, .revents = 0};
  }
  /* A service that is not scheduled for milliseconds answers too late from an address that has moved. */
  note(KIND_BEGIN, become_fifo() ? 1 : 0, number, now(), 0);
  hand_on(now());
  for (;;) {
    if (poll(watched, count, -1) < 0 && errno != EINTR) fail("poll");
    for (nfds_t i = 0; i < count; i++)
      if (watched[i].revents != 0) answer_all(watched[i].fd, number);
  }
}
