/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See instrument.h. Receive times are the kernel's, so that a program that was not scheduled does not report an outage
 * that did not happen. If the clock is stepped, only their precision suffers.
 */
#define _GNU_SOURCE
#include "instrument.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define BELIEVABLE_NS (10 * SECOND)

void fail(const char *action) {
  fprintf(stderr, "%s: cannot %s: %s\n", program_invocation_short_name, action, strerror(errno));
  exit(EXIT_FAILURE);
}

long read_number(const char *text, long low, long high) {
  char *end = NULL;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno == 0 && end != text && *end == '\0' && value >= low && value <= high) return value;
  fprintf(stderr, "%s: \"%s\" is not a number from %ld to %ld\n", program_invocation_short_name, text, low, high);
  exit(EXIT_USAGE);
}

/* ---- time ---- */

static nanos read_clock(clockid_t clock) {
  struct timespec time;
  if (clock_gettime(clock, &time) != 0) fail("read the clock");
  return (nanos)time.tv_sec * SECOND + time.tv_nsec;
}

nanos now(void) { return read_clock(CLOCK_MONOTONIC); }

/* Returns CLOCK_REALTIME minus CLOCK_MONOTONIC, from the shortest of three readings. */
static nanos wall_offset(void) {
  nanos best = 0;
  nanos shortest = INT64_MAX;
  for (int i = 0; i < 3 && shortest > 2000; i++) {
    const nanos before = now();
    const nanos wall = read_clock(CLOCK_REALTIME);
    const nanos spent = now() - before;
    if (spent >= shortest) continue;
    shortest = spent;
    best = wall - before - spent / 2;
  }
  return best;
}

int open_ticks(nanos first, nanos interval) {
  const struct itimerspec spec = {
      .it_interval = {.tv_sec = (time_t)(interval / SECOND), .tv_nsec = (long)(interval % SECOND)},
      .it_value = {.tv_sec = (time_t)(first / SECOND), .tv_nsec = (long)(first % SECOND)}};
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL) != 0) fail("start a timer");
  return fd;
}

uint64_t read_ticks(int timer) {
  uint64_t count = 0;
  const ssize_t length = read(timer, &count, sizeof count);
  if (length == (ssize_t)sizeof count) return count;
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  fail("read the timer");
}

int open_end_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) fail("block signals");
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) fail("open a signal descriptor");
  return fd;
}

/* Sets SCHED_FIFO by the system call, because sched_setscheduler() of musl always fails with ENOSYS. */
bool set_fifo(int priority) {
  const struct sched_param parameter = {.sched_priority = priority};
  return syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameter) == 0;
}

/* ---- sockets ---- */

void enable_option(int fd, int level, int option, const char *action) {
  const int on = 1;
  if (setsockopt(fd, level, option, &on, sizeof on) != 0) fail(action);
}

/* The queue holds the answers of one second, so a reader that is not scheduled for that long loses none. */
void enlarge_queue(int fd) {
  const int size = 4 << 20;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) == 0) return;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) != 0) fail("enlarge the receive queue");
}

socklen_t read_address(const char *host, const char *port, struct sockaddr_storage *result) {
  struct addrinfo hints;
  struct addrinfo *found = NULL;
  (void)read_number(port, 1, 65535);
  memset(result, 0, sizeof *result);
  memset(&hints, 0, sizeof hints);
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  const int status = getaddrinfo(host, port, &hints, &found);
  if (status != 0 || found == NULL || found->ai_addrlen > sizeof *result) {
    fprintf(stderr, "%s: \"%s\" is not an IP address: %s\n", program_invocation_short_name, host, gai_strerror(status));
    exit(EXIT_USAGE);
  }
  const socklen_t length = found->ai_addrlen;
  memcpy(result, found->ai_addr, length);
  freeaddrinfo(found);
  return length;
}

int open_client(const struct sockaddr_storage *target) {
  const int fd = socket(target->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) fail("open a socket");
  enable_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, "ask for receive times");
  enlarge_queue(fd);
  return fd;
}

bool is_same_address(const struct sockaddr_storage *one, const struct sockaddr_storage *other) {
  if (one->ss_family != other->ss_family) return false;
  if (one->ss_family == AF_INET) {
    struct sockaddr_in a, b;
    memcpy(&a, one, sizeof a);
    memcpy(&b, other, sizeof b);
    return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
  }
  struct sockaddr_in6 a, b;
  memcpy(&a, one, sizeof a);
  memcpy(&b, other, sizeof b);
  return a.sin6_port == b.sin6_port && memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

bool receive_packet(int fd, struct packet *packet) {
  for (;;) {
    union {
      struct cmsghdr align;
      char bytes[256];
    } control;
    struct iovec vector = {packet->bytes, PACKET_MAX};
    memset(&packet->from, 0, sizeof packet->from);
    struct msghdr message = {.msg_name = &packet->from,
                             .msg_namelen = sizeof packet->from,
                             .msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    const ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT);
    if (length < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      if (errno == EINTR || errno == ENETDOWN || errno == ECONNREFUSED || errno == EHOSTUNREACH || errno == ENETUNREACH)
        continue;
      fail("receive");
    }
    packet->length = (size_t)length;
    packet->bytes[length] = '\0';
    packet->read_at = packet->at = now();
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS) continue;
      int64_t stamp[2];
      memcpy(stamp, CMSG_DATA(c), sizeof stamp);
      const nanos at = stamp[0] * SECOND + stamp[1] - wall_offset();
      /* If the clock was stepped, the stamp is wrong, and the time of reading is the best estimate. */
      if (at <= packet->read_at && packet->read_at - at < BELIEVABLE_NS) packet->at = at;
    }
    return true;
  }
}

/* ---- a service ---- */

int open_service(const char *host, const char *port) {
  struct sockaddr_storage address;
  const socklen_t length = read_address(host, port, &address);
  const int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    if (errno == EAFNOSUPPORT) return -1;
    fail("open a socket");
  }
  if (address.ss_family == AF_INET6) {
    enable_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, "separate IPv6 from IPv4");
    enable_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, "learn the address that was asked");
  } else {
    enable_option(fd, IPPROTO_IP, IP_PKTINFO, "learn the address that was asked");
  }
  enlarge_queue(fd);
  if (bind(fd, (const struct sockaddr *)&address, length) == 0) return fd;
  if (errno != EADDRNOTAVAIL || address.ss_family != AF_INET6) fail("bind");
  (void)close(fd); /* IPv6 is switched off */
  return -1;
}

static struct msghdr make_message(struct request *request, struct iovec *vector) {
  const struct msghdr message = {.msg_name = &request->from,
                                 .msg_namelen = sizeof request->from,
                                 .msg_iov = vector,
                                 .msg_iovlen = 1,
                                 .msg_control = &request->control,
                                 .msg_controllen = request->control_length};
  return message;
}

bool receive_request(int fd, struct request *request) {
  memset(&request->control, 0, sizeof request->control);
  memset(&request->from, 0, sizeof request->from);
  request->control_length = sizeof request->control;
  struct iovec vector = {request->bytes, sizeof request->bytes};
  struct msghdr message = make_message(request, &vector);
  ssize_t length = 0;
  do length = recvmsg(fd, &message, MSG_DONTWAIT);
  while (length < 0 && errno == EINTR);
  if (length < 0) return false; /* the queue is empty, or an error that the next datagram clears */
  request->length = (size_t)length;
  request->control_length = message.msg_controllen;
  return true;
}

/*
 * The received control message is sent back: the address that was asked becomes the source. Routing chooses the
 * interface, except for an IPv6 link-local address, where the peer's sockaddr names it.
 */
static void set_source(struct msghdr *message) {
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
      if (!IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) info.ipi6_ifindex = 0;
      memcpy(CMSG_DATA(c), &info, sizeof info);
    }
  }
}

void send_answer(int fd, struct request *request) {
  struct iovec vector = {request->bytes, request->length};
  struct msghdr message = make_message(request, &vector);
  set_source(&message);
  /* If the address has just left this node, no answer is the right answer. */
  (void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
