/*
 * The benchmark's eyes: a service, a client that probes it, an observer that asks who has an address. They only note what
 * they saw and when; what it means is decided by bench/failover/recording.ts. Decided here: SCHED_FIFO where it is
 * permitted, ticks on absolute times, arrival times of the kernel. Refuses to know VRRP. Compiled when the benchmark
 * starts (bench/failover/gauge.ts); no part of the product.
 */
#include "gauge.h"

#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 64
#define SECOND 1000000000ll
#define BELIEVABLE_NS 10000000000ll

static const char usage_text[] =
    "usage: gauge respond NUMBER PORT\n"
    "       gauge probe ADDRESS PORT INTERVAL-US [INTERFACE]   with it: no neighbour entry before any probe\n"
    "       gauge ask INTERFACE ADDRESS INTERVAL-US\n"
    "Records (gauge.h) on standard output until SIGTERM or SIGINT.\n";

void fail(const char *action) {
  fprintf(stderr, "gauge: cannot %s: %s\n", action, strerror(errno));
  exit(EXIT_FAILURE);
}

void wrong_usage(void) {
  fputs(usage_text, stderr);
  exit(EXIT_USAGE);
}

static nanos now_of(clockid_t clock) {
  struct timespec time;
  if (clock_gettime(clock, &time) != 0) fail("read the clock");
  return (nanos)time.tv_sec * SECOND + time.tv_nsec;
}

nanos now(void) { return now_of(CLOCK_MONOTONIC); }

/* CLOCK_REALTIME minus CLOCK_MONOTONIC, as of now: the reading that was disturbed least. */
static nanos wall_offset(void) {
  nanos best = 0;
  nanos shortest = INT64_MAX;
  for (int i = 0; i < 3 && shortest > 2000; i++) {
    const nanos before = now();
    const nanos wall = now_of(CLOCK_REALTIME);
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

uint64_t expired(int timer) {
  uint64_t count = 0;
  const ssize_t length = read(timer, &count, sizeof count);
  if (length == (ssize_t)sizeof count) return count;
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  fail("read the timer");
}

int end_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) fail("block signals");
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) fail("open a signal descriptor");
  return fd;
}

/* Above the daemons that ask for real-time priority. Without it the kernel may be 50 µs late on purpose; with it, no page of ours is fetched between two probes. */
bool become_fifo(void) {
  const struct sched_param parameter = {.sched_priority = 60};
  (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  (void)mlockall(MCL_CURRENT | MCL_FUTURE);
  return sched_setscheduler(0, SCHED_FIFO, &parameter) == 0;
}

void enable(int fd, int level, int option, const char *action) {
  const int on = 1;
  if (setsockopt(fd, level, option, &on, sizeof on) != 0) fail(action);
}

void enlarge_queue(int fd) {
  const int size = 4 << 20;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) == 0) return;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) != 0) fail("enlarge the receive queue");
}

socklen_t address_of(const char *host, const char *port, struct sockaddr_storage *result) {
  struct addrinfo hints;
  struct addrinfo *found = NULL;
  memset(result, 0, sizeof *result);
  memset(&hints, 0, sizeof hints);
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  const int status = getaddrinfo(host, port, &hints, &found);
  if (status != 0 || found == NULL || found->ai_addrlen > sizeof *result) {
    fprintf(stderr, "gauge: \"%s\" port \"%s\" is no address: %s\n", host, port, gai_strerror(status));
    exit(EXIT_USAGE);
  }
  const socklen_t length = found->ai_addrlen;
  memcpy(result, found->ai_addr, length);
  freeaddrinfo(found);
  return length;
}

/* False when the queue is empty. */
bool take(int fd, struct packet *packet) {
  for (;;) {
    union {
      struct cmsghdr align;
      char bytes[256];
    } control;
    struct iovec vector = {packet->bytes, sizeof packet->bytes};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    memset(&packet->from, 0, sizeof packet->from);
    message.msg_name = &packet->from;
    message.msg_namelen = sizeof packet->from;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    const ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT);
    if (length < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      if (errno == EINTR || errno == ENETDOWN || errno == ECONNREFUSED || errno == EHOSTUNREACH || errno == ENETUNREACH)
        continue;
      fail("receive");
    }
    packet->length = (size_t)length;
    packet->read_at = packet->at = now();
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS) continue;
      int64_t stamp[2];
      memcpy(stamp, CMSG_DATA(c), sizeof stamp);
      const nanos at = stamp[0] * SECOND + stamp[1] - wall_offset();
      /* A stepped clock gives nonsense; then the time of reading is the best that is known. */
      if (at <= packet->read_at && packet->read_at - at < BELIEVABLE_NS) packet->at = at;
    }
    return true;
  }
}

static long number(const char *text, long low, long high) {
  char *end = NULL;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno == 0 && end != text && *end == '\0' && value >= low && value <= high) return value;
  fprintf(stderr, "gauge: \"%s\" is not a number from %ld to %ld\n", text, low, high);
  exit(EXIT_USAGE);
}

static nanos interval_of(const char *text) { return (nanos)number(text, 50, 60000000) * 1000; }

int main(int count, char **words) {
  if (count < 4) wrong_usage();
  open_journal();
  if (strcmp(words[1], "respond") == 0 && count == 4) return respond((uint32_t)number(words[2], 0, 255), words[3]);
  if (strcmp(words[1], "probe") == 0 && (count == 5 || count == 6))
    return probe(words[2], words[3], interval_of(words[4]), count == 6 ? words[5] : NULL);
  if (strcmp(words[1], "ask") == 0 && count == 5) return ask(words[2], words[3], interval_of(words[4]));
  wrong_usage();
}
