/*
 * What a client on the LAN sees: a UDP responder, a UDP prober and an observer of ARP and Neighbor Discovery, for the
 * demo, the tests and the bench. Decided here: what counts as lost (no answer within one second), as a gap (no answer
 * for more than three intervals while probes went out) and as two owners. Times are CLOCK_MONOTONIC, which all network
 * namespaces share;
 * arrival times are the kernel's, so a prober that was not scheduled does not invent an outage.
 * Refuses to know: VRRP and who should be the owner. The daemon never runs this program.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 64
#define NAME_MAX_LENGTH 63
#define NAMES_MAX 16
#define ANSWER_LIMIT_NS 1000000000ll
#define LAST_ANSWERS_NS 200000000ll /* how long the end waits for probes that are under way */
#define GAP_INTERVALS 3
#define DUPLICATE_LINES_PER_S 10
#define MACS_MAX 16
#define DRAIN_MAX 4096 /* packets per wake-up, so that a flood cannot stop the probes */

typedef int64_t nanos;

static const char usage_text[] =
    "usage: holdfast-probe respond NAME PORT [--bind ADDRESS] [--fifo]\n"
    "         answers each UDP datagram from the address it was sent to: \"<first word of it> NAME\"\n"
    "       holdfast-probe probe ADDRESS PORT [--interval-us 1000] [--duration-ms N] [--fifo]\n"
    "         one UDP probe per interval, until the duration is over or SIGTERM or SIGINT comes.\n"
    "         JSON lines: start, owner (the answering NAME changed), gap, stall (the prober itself was late), duplicate\n"
    "         (two names answered one probe), summary. --fifo: SCHED_FIFO, where it is permitted\n"
    "       holdfast-probe arp INTERFACE ADDRESS [--interval-ms 10] [--duration-ms N] [--fifo]\n"
    "         asks who has the ADDRESS, IPv4 (ARP) or IPv6 (Neighbor Discovery). JSON lines: start, claim (the set of MACs\n"
    "         that answered one question changed), announce (a gratuitous ARP, an unsolicited advertisement), summary\n"
    "Times are CLOCK_MONOTONIC in milliseconds. Exit status: 0, 1 for a failure, 64 for wrong usage.\n";

struct options {
  const char *words[3];
  int count;
  const char *bind;
  long interval_us;
  long duration_ms; /* 0 = until a signal */
  bool fifo;
};

/* ---- common ---- */

static void fail(const char *action) __attribute__((noreturn));
static void fail(const char *action) {
  fprintf(stderr, "holdfast-probe: cannot %s: %s\n", action, strerror(errno));
  exit(EXIT_FAILURE);
}

static void wrong_usage(void) __attribute__((noreturn));
static void wrong_usage(void) {
  fputs(usage_text, stderr);
  exit(EXIT_USAGE);
}

static nanos now_of(clockid_t clock) {
  struct timespec time;
  if (clock_gettime(clock, &time) != 0) fail("read the clock");
  return (nanos)time.tv_sec * 1000000000 + time.tv_nsec;
}

static nanos now(void) { return now_of(CLOCK_MONOTONIC); }

static double ms(nanos time) { return (double)time / 1e6; }

static void line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void line(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vprintf(format, arguments);
  va_end(arguments);
  if (written < 0 || putchar('\n') == EOF || fflush(stdout) != 0) {
    /* Nobody reads any more; there is nothing left to do for. */
    exit(EXIT_FAILURE);
  }
}

static long number(const char *text, long low, long high) {
  char *end = NULL;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < low || value > high) {
    fprintf(stderr, "holdfast-probe: \"%s\" is not a number from %ld to %ld\n", text, low, high);
    exit(EXIT_USAGE);
  }
  return value;
}

static struct sockaddr_storage address_of(const char *host, const char *port, socklen_t *length) {
  struct sockaddr_storage result;
  struct addrinfo hints;
  struct addrinfo *found = NULL;
  (void)number(port, 1, 65535);
  memset(&result, 0, sizeof result);
  memset(&hints, 0, sizeof hints);
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  const int status = getaddrinfo(host, port, &hints, &found);
  if (status != 0 || found == NULL || found->ai_addrlen > sizeof result) {
    fprintf(stderr, "holdfast-probe: \"%s\" is not an IP address: %s\n", host, gai_strerror(status));
    exit(EXIT_USAGE);
  }
  memcpy(&result, found->ai_addr, found->ai_addrlen);
  *length = found->ai_addrlen;
  freeaddrinfo(found);
  return result;
}

static void enable(int fd, int level, int option, const char *action) {
  const int on = 1;
  if (setsockopt(fd, level, option, &on, sizeof on) != 0) fail(action);
}

/* Answers of a second fit: the reader may be descheduled for that long without an invented loss. */
static void enlarge_queue(int fd) {
  const int size = 4 << 20;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) == 0) return;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) != 0) fail("enlarge the receive queue");
}

/* libc stubs this call in musl, hence the plain syscall. */
static void become_fifo(void) {
  const struct sched_param parameter = {.sched_priority = 10};
  if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameter) != 0)
    fprintf(stderr, "holdfast-probe: no SCHED_FIFO (%s), going on without\n", strerror(errno));
}

static int end_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) fail("block signals");
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) fail("open a signal descriptor");
  return fd;
}

static struct timespec timespec_of(nanos time) {
  const struct timespec result = {.tv_sec = (time_t)(time / 1000000000), .tv_nsec = (long)(time % 1000000000)};
  return result;
}

/* Ticks lie on absolute times: a late one does not move the next. */
static int ticks(nanos first, nanos interval) {
  const struct itimerspec spec = {.it_interval = timespec_of(interval), .it_value = timespec_of(first)};
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL) != 0) fail("start a timer");
  return fd;
}

static uint64_t expirations(int timer) {
  uint64_t count = 0;
  const ssize_t length = read(timer, &count, sizeof count);
  if (length == (ssize_t)sizeof count) return count;
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  fail("read the timer");
}

/* One datagram and when the kernel got it, on CLOCK_MONOTONIC. False when the queue is empty. */
static bool take(int fd, void *bytes, size_t size, ssize_t *length, struct sockaddr_storage *from, nanos *at) {
  for (;;) {
    union {
      struct cmsghdr align;
      char bytes[256];
    } control;
    struct iovec vector = {bytes, size};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    memset(from, 0, sizeof *from);
    message.msg_name = from;
    message.msg_namelen = sizeof *from;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    *length = recvmsg(fd, &message, MSG_DONTWAIT);
    if (*length < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      if (errno == EINTR) continue;
      if (errno == ENETDOWN || errno == ECONNREFUSED || errno == EHOSTUNREACH || errno == ENETUNREACH) continue;
      fail("receive");
    }
    *at = now();
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS) continue;
      int64_t stamp[2];
      memcpy(stamp, CMSG_DATA(c), sizeof stamp);
      const nanos age = now_of(CLOCK_REALTIME) - (stamp[0] * 1000000000 + stamp[1]);
      /* A stepped clock gives nonsense; then the time of reading is the best that is known. */
      if (age > 0 && age < ANSWER_LIMIT_NS) *at -= age;
    }
    return true;
  }
}

/* ---- respond ---- */

/* A name goes into JSON lines of a prober elsewhere. */
static bool plain_name(const char *name, size_t length) {
  if (length == 0 || length > NAME_MAX_LENGTH) return false;
  for (size_t i = 0; i < length; i++)
    if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\') return false;
  return true;
}

static int open_responder(const struct sockaddr_storage *address, socklen_t length) {
  const int fd = socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    if (errno == EAFNOSUPPORT) return -1;
    fail("open a socket");
  }
  if (address->ss_family == AF_INET6) {
    enable(fd, IPPROTO_IPV6, IPV6_V6ONLY, "separate IPv6 from IPv4");
    enable(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, "learn the address that was asked");
  } else {
    enable(fd, IPPROTO_IP, IP_PKTINFO, "learn the address that was asked");
  }
  enlarge_queue(fd);
  if (bind(fd, (const struct sockaddr *)address, length) != 0) {
    if (errno == EADDRNOTAVAIL && address->ss_family == AF_INET6) { /* IPv6 is switched off */
      (void)close(fd);
      return -1;
    }
    fail("bind");
  }
  return fd;
}

/*
 * The control message that came in goes back out: the address that was asked becomes the source. The interface is left
 * to routing, except for IPv6 link-local, where the peer's sockaddr names it.
 */
static void turn_packet_info(struct msghdr *message) {
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

static void answer_all(int fd, const char *name) {
  char bytes[512];
  union {
    struct cmsghdr align;
    char bytes[256];
  } control;
  for (int i = 0; i < DRAIN_MAX; i++) {
    struct sockaddr_storage peer;
    struct iovec vector = {bytes, 256};
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
    if (length < 0) {
      if (errno == EINTR) continue;
      return; /* empty, or an error that the next datagram forgets */
    }
    size_t word = 0;
    while (word < (size_t)length && bytes[word] != ' ' && bytes[word] != '\0') word++;
    bytes[word] = ' ';
    memcpy(bytes + word + 1, name, strlen(name)); /* 256 + 1 + 63 fit */
    vector.iov_len = word + 1 + strlen(name);
    message.msg_flags = 0;
    turn_packet_info(&message);
    /* The address may have left this node a moment ago: then silence is the right answer. */
    (void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

static int respond(const struct options *options) {
  const char *const any[2] = {"0.0.0.0", "::"};
  struct pollfd watched[2];
  nfds_t count = 0;
  if (options->count != 3 || !plain_name(options->words[1], strlen(options->words[1]))) wrong_usage();
  for (int i = 0; i < (options->bind != NULL ? 1 : 2); i++) {
    socklen_t length = 0;
    const char *const host = options->bind != NULL ? options->bind : any[i];
    const struct sockaddr_storage address = address_of(host, options->words[2], &length);
    const int fd = open_responder(&address, length);
    if (fd >= 0) watched[count++] = (struct pollfd){.fd = fd, .events = POLLIN, .revents = 0};
  }
  if (count == 0) fail("bind to that address");
  /* A service that is not scheduled for milliseconds answers too late from an address that has moved. */
  if (options->fifo) become_fifo();
  line("{\"t\":%.3f,\"event\":\"start\",\"name\":\"%s\"}", ms(now()), options->words[1]);
  for (;;) {
    if (poll(watched, count, -1) < 0 && errno != EINTR) fail("poll");
    for (nfds_t i = 0; i < count; i++)
      if (watched[i].revents != 0) answer_all(watched[i].fd, options->words[1]);
  }
}

/* ---- probe ---- */

struct probe {
  uint64_t sequence;
  nanos sent_at;
  int owner; /* index of the name that answered, -1 none yet */
};

struct prober {
  int fd;
  struct sockaddr_storage target;
  socklen_t target_length;
  nanos interval;
  struct probe *ring;
  uint64_t ring_size; /* a power of two that covers more than ANSWER_LIMIT_NS */
  uint64_t next; /* sequence of the next probe */
  uint64_t oldest; /* probes before it have been judged */
  uint64_t received, lost, late, duplicates, missed, send_errors, strangers;
  char names[NAMES_MAX][NAME_MAX_LENGTH + 1];
  uint64_t by_name[NAMES_MAX];
  int name_count;
  int owner; /* of the last answer, -1 none */
  bool answered; /* the three below are set */
  uint64_t last_sequence; /* highest that was answered */
  nanos last_answer;
  uint64_t missed_before; /* `missed` at the last answer */
  nanos longest_gap;
  uint64_t gaps;
  nanos duplicate_second;
  int duplicate_lines;
};

static struct probe *slot(struct prober *p, uint64_t sequence) { return &p->ring[sequence & (p->ring_size - 1)]; }

static int name_index(struct prober *p, const char *name, size_t length) {
  for (int i = 0; i < p->name_count; i++)
    if (strlen(p->names[i]) == length && memcmp(p->names[i], name, length) == 0) return i;
  if (p->name_count == NAMES_MAX) return -1;
  memcpy(p->names[p->name_count], name, length);
  p->names[p->name_count][length] = '\0';
  return p->name_count++;
}

static void judge_old(struct prober *p, nanos until) {
  for (; p->oldest < p->next; p->oldest++) {
    const struct probe *probe = slot(p, p->oldest);
    if (probe->sent_at + ANSWER_LIMIT_NS > until) break;
    if (probe->owner < 0) p->lost++;
  }
}

static void send_probe(struct prober *p) {
  char text[32];
  if (p->next - p->oldest >= p->ring_size) { /* cannot happen while judge_old runs; never overwrite an open probe */
    p->missed++;
    return;
  }
  const int length = snprintf(text, sizeof text, "%" PRIu64, p->next);
  struct probe *probe = slot(p, p->next);
  probe->sequence = p->next++;
  probe->sent_at = now();
  probe->owner = -1;
  ssize_t sent;
  do {
    sent = sendto(p->fd, text, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&p->target,
                  p->target_length);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) p->send_errors++; /* unreachable, for instance: that probe is lost, which is what a client sees */
}

/* Unanswered probes between two answers; older than the ring counts as unanswered. */
static uint64_t unanswered(struct prober *p, uint64_t after, uint64_t before) {
  uint64_t count = 0;
  for (uint64_t sequence = after + 1; sequence < before; sequence++) {
    const struct probe *probe = slot(p, sequence);
    if (probe->sequence != sequence || probe->owner < 0) count++;
  }
  return count;
}

static void report_silence(struct prober *p, nanos until, uint64_t before, bool open) {
  const nanos silence = until - p->last_answer;
  if (silence <= GAP_INTERVALS * p->interval) return;
  const uint64_t lost = unanswered(p, p->last_sequence, before);
  const uint64_t missed = p->missed - p->missed_before;
  if (lost == 0) {
    if (missed > 0)
      line("{\"t\":%.3f,\"event\":\"stall\",\"ms\":%.3f,\"missed\":%" PRIu64 "}", ms(until), ms(silence), missed);
    return;
  }
  p->gaps++;
  if (silence > p->longest_gap) p->longest_gap = silence;
  line("{\"t\":%.3f,\"event\":\"gap\",\"from\":%.3f,\"to\":%.3f,\"ms\":%.3f,\"lost\":%" PRIu64 ",\"missed\":%" PRIu64
       ",\"open\":%s}",
       ms(until), ms(p->last_answer), ms(until), ms(silence), lost, missed, open ? "true" : "false");
}

static void report_duplicate(struct prober *p, nanos at, uint64_t sequence, int first, int second) {
  p->duplicates++;
  if (at - p->duplicate_second >= 1000000000) {
    p->duplicate_second = at;
    p->duplicate_lines = 0;
  }
  if (p->duplicate_lines++ >= DUPLICATE_LINES_PER_S) return;
  line("{\"t\":%.3f,\"event\":\"duplicate\",\"seq\":%" PRIu64 ",\"names\":[\"%s\",\"%s\"]}", ms(at), sequence,
       p->names[first], p->names[second]);
}

static void take_answer(struct prober *p, uint64_t sequence, const char *name, size_t length, nanos at) {
  const int owner = name_index(p, name, length);
  struct probe *probe = slot(p, sequence);
  if (owner < 0 || sequence >= p->next || probe->sequence != sequence) {
    p->strangers++;
    return;
  }
  if (probe->owner >= 0) {
    if (probe->owner != owner) report_duplicate(p, at, sequence, probe->owner, owner);
    return;
  }
  if (sequence < p->oldest || at - probe->sent_at > ANSWER_LIMIT_NS) {
    p->late++;
    if (sequence < p->oldest) return; /* counted as lost already */
  } else {
    probe->owner = owner;
    p->received++;
    p->by_name[owner]++;
  }
  if (p->answered) report_silence(p, at, sequence, false);
  if (owner != p->owner) {
    p->owner = owner;
    line("{\"t\":%.3f,\"event\":\"owner\",\"name\":\"%s\",\"seq\":%" PRIu64 "}", ms(at), p->names[owner], sequence);
  }
  if (!p->answered || at > p->last_answer) p->last_answer = at;
  if (!p->answered || sequence > p->last_sequence) p->last_sequence = sequence;
  p->missed_before = p->missed;
  p->answered = true;
}

/* Only the address that was asked may answer: an answer from another one would hide a broken responder. */
static bool from_target(const struct prober *p, const struct sockaddr_storage *from) {
  if (from->ss_family != p->target.ss_family) return false;
  if (from->ss_family == AF_INET) {
    struct sockaddr_in a, b;
    memcpy(&a, from, sizeof a);
    memcpy(&b, &p->target, sizeof b);
    return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
  }
  struct sockaddr_in6 a, b;
  memcpy(&a, from, sizeof a);
  memcpy(&b, &p->target, sizeof b);
  return a.sin6_port == b.sin6_port && memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

static void take_answers(struct prober *p) {
  char bytes[512];
  ssize_t length = 0;
  struct sockaddr_storage from;
  nanos at = 0;
  for (int i = 0; i < DRAIN_MAX && take(p->fd, bytes, sizeof bytes - 1, &length, &from, &at); i++) {
    char *end = NULL;
    bytes[length] = '\0';
    errno = 0;
    const unsigned long long sequence = strtoull(bytes, &end, 10);
    const size_t name_length = *end == ' ' ? strlen(end + 1) : 0;
    if (errno != 0 || end == bytes || !from_target(p, &from) || !plain_name(end + 1, name_length)) {
      p->strangers++;
      continue;
    }
    take_answer(p, sequence, end + 1, name_length, at);
  }
}

static bool under_way(struct prober *p) {
  for (uint64_t sequence = p->answered ? p->last_sequence + 1 : p->oldest; sequence < p->next; sequence++) {
    if (sequence < p->oldest) continue;
    if (slot(p, sequence)->owner < 0) return true;
  }
  return false;
}

static void summarize(struct prober *p, nanos began, nanos ended) {
  if (p->answered) report_silence(p, ended, p->next, true);
  judge_old(p, INT64_MAX);
  printf("{\"t\":%.3f,\"event\":\"summary\",\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"lost\":%" PRIu64
         ",\"longestGapMs\":%.3f,\"gaps\":%" PRIu64 ",\"duplicates\":%" PRIu64 ",\"late\":%" PRIu64
         ",\"missedTicks\":%" PRIu64 ",\"sendErrors\":%" PRIu64 ",\"strangers\":%" PRIu64 ",\"ms\":%.3f,\"byName\":{",
         ms(ended), p->next, p->received, p->lost, ms(p->longest_gap), p->gaps, p->duplicates, p->late, p->missed,
         p->send_errors, p->strangers, ms(ended - began));
  for (int i = 0; i < p->name_count; i++)
    printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", p->names[i], p->by_name[i]);
  line("}}");
}

static int probe(const struct options *options) {
  static struct prober p;
  if (options->count != 3) wrong_usage();
  p.interval = (nanos)(options->interval_us > 0 ? options->interval_us : 1000) * 1000;
  p.target = address_of(options->words[1], options->words[2], &p.target_length);
  p.owner = -1;
  p.ring_size = 1024;
  while ((nanos)p.ring_size * p.interval < 2 * ANSWER_LIMIT_NS + LAST_ANSWERS_NS) p.ring_size *= 2;
  p.ring = calloc(p.ring_size, sizeof *p.ring);
  if (p.ring == NULL) fail("get memory");
  for (uint64_t i = 0; i < p.ring_size; i++) p.ring[i].sequence = UINT64_MAX;
  p.fd = socket(p.target.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (p.fd < 0) fail("open a socket");
  enable(p.fd, SOL_SOCKET, SO_TIMESTAMPNS, "ask for receive times");
  enlarge_queue(p.fd);
  if (options->fifo) become_fifo();

  const int signals = end_signals();
  const nanos began = now();
  const nanos end = options->duration_ms > 0 ? began + (nanos)options->duration_ms * 1000000 : INT64_MAX;
  nanos ended = INT64_MAX; /* no more probes after it */
  struct pollfd watched[3] = {{.fd = ticks(began + p.interval, p.interval), .events = POLLIN, .revents = 0},
                              {.fd = p.fd, .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  line("{\"t\":%.3f,\"event\":\"start\",\"intervalUs\":%" PRId64 "}", ms(began), p.interval / 1000);
  for (;;) {
    if (poll(watched, 3, 100) < 0 && errno != EINTR) fail("poll");
    const uint64_t due = expirations(watched[0].fd);
    const nanos time = now();
    if (ended == INT64_MAX && (time >= end || watched[2].revents != 0)) ended = time;
    if (due > 0 && ended == INT64_MAX) {
      p.missed += due - 1;
      send_probe(&p);
    }
    take_answers(&p);
    judge_old(&p, time);
    if (ended != INT64_MAX && (time >= ended + LAST_ANSWERS_NS || !under_way(&p))) break;
    if (ended != INT64_MAX) watched[2].fd = -1;
  }
  summarize(&p, began, ended);
  free(p.ring);
  return EXIT_SUCCESS;
}

/* ---- arp ---- */

struct mac {
  unsigned char bytes[ETH_ALEN];
};

struct claims {
  struct mac macs[MACS_MAX];
  nanos first[MACS_MAX];
  int count;
};

/* As RFC 4861 lays it out: the target and our link-layer address. */
struct solicitation {
  struct nd_neighbor_solicit header;
  struct nd_opt_hdr option;
  unsigned char mac[ETH_ALEN];
};

struct observer {
  int fd;
  struct sockaddr_storage everybody; /* where the question goes */
  socklen_t everybody_length;
  struct ether_arp request;
  struct solicitation solicitation;
  bool is_ipv6;
  const char *address;
  struct claims round; /* answers to the latest question */
  struct claims previous; /* answers to the one before */
  struct claims total;
  uint64_t answers[MACS_MAX];
  uint64_t rounds, answered_rounds, announcements, send_errors;
  nanos asked_at;
  nanos overlap;
};

static int claim_index(const struct claims *claims, const unsigned char *mac) {
  for (int i = 0; i < claims->count; i++)
    if (memcmp(claims->macs[i].bytes, mac, ETH_ALEN) == 0) return i;
  return -1;
}

static int add_claim(struct claims *claims, const unsigned char *mac, nanos at) {
  const int known = claim_index(claims, mac);
  if (known >= 0 || claims->count == MACS_MAX) return known;
  memcpy(claims->macs[claims->count].bytes, mac, ETH_ALEN);
  claims->first[claims->count] = at;
  return claims->count++;
}

static const char *mac_text(const unsigned char *mac, char text[18]) {
  (void)snprintf(text, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
  return text;
}

/* When something new answered, that moment; when something fell silent, the question that it left unanswered. */
static void report_claims(struct observer *o) {
  char text[18];
  nanos at = o->asked_at;
  bool changed = o->round.count != o->previous.count;
  for (int i = o->round.count - 1; i >= 0; i--)
    if (claim_index(&o->previous, o->round.macs[i].bytes) < 0) {
      at = o->round.first[i];
      changed = true;
    }
  if (!changed) return;
  printf("{\"t\":%.3f,\"event\":\"claim\",\"mac\":", ms(at));
  if (o->round.count > 0)
    printf("\"%s\"", mac_text(o->round.macs[0].bytes, text));
  else
    printf("null");
  printf(",\"macs\":[");
  for (int i = 0; i < o->round.count; i++)
    printf("%s\"%s\"", i > 0 ? "," : "", mac_text(o->round.macs[i].bytes, text));
  line("],\"address\":\"%s\"}", o->address);
}

static void finish_round(struct observer *o, nanos at) {
  if (o->rounds == 0) return;
  report_claims(o);
  if (o->round.count > 0) o->answered_rounds++;
  if (o->round.count > 1) o->overlap += at - o->asked_at;
  o->previous = o->round;
}

static void ask(struct observer *o) {
  o->asked_at = now();
  o->round.count = 0;
  o->rounds++;
  const void *const question = o->is_ipv6 ? (const void *)&o->solicitation : (const void *)&o->request;
  const ssize_t sent = sendto(o->fd, question, o->is_ipv6 ? sizeof o->solicitation : sizeof o->request,
                              MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&o->everybody, o->everybody_length);
  if (sent < 0) o->send_errors++;
}

static void take_claim(struct observer *o, const unsigned char *mac, nanos at) {
  (void)add_claim(&o->round, mac, at);
  const int index = add_claim(&o->total, mac, at);
  if (index >= 0) o->answers[index]++;
}

static void take_announcement(struct observer *o, const unsigned char *mac, nanos at) {
  char text[18];
  o->announcements++;
  line("{\"t\":%.3f,\"event\":\"announce\",\"mac\":\"%s\",\"address\":\"%s\"}", ms(at), mac_text(mac, text),
       o->address);
}

static void take_arp(struct observer *o, const unsigned char *bytes, size_t length, nanos at) {
  struct ether_arp packet;
  if (length < sizeof packet) return;
  memcpy(&packet, bytes, sizeof packet);
  if (packet.arp_hrd != htons(ARPHRD_ETHER) || packet.arp_pro != htons(ETHERTYPE_IP) || packet.arp_hln != ETH_ALEN ||
      packet.arp_pln != 4 || memcmp(packet.arp_spa, o->request.arp_tpa, 4) != 0)
    return;
  if (memcmp(packet.arp_tpa, packet.arp_spa, 4) == 0)
    take_announcement(o, packet.arp_sha, at);
  else if (packet.arp_op == htons(ARPOP_REPLY))
    take_claim(o, packet.arp_sha, at);
}

/* Without a target link-layer option nobody's cache would follow it, so it is no claim. */
static void take_advertisement(struct observer *o, const unsigned char *bytes, size_t length, nanos at) {
  struct nd_neighbor_advert packet;
  if (length < sizeof packet) return;
  memcpy(&packet, bytes, sizeof packet);
  if (packet.nd_na_type != ND_NEIGHBOR_ADVERT ||
      memcmp(&packet.nd_na_target, &o->solicitation.header.nd_ns_target, sizeof packet.nd_na_target) != 0)
    return;
  for (size_t option = sizeof packet; option + 8 <= length && bytes[option + 1] > 0; option += 8u * bytes[option + 1]) {
    if (bytes[option] != ND_OPT_TARGET_LINKADDR) continue;
    if ((packet.nd_na_flags_reserved & ND_NA_FLAG_SOLICITED) == 0)
      take_announcement(o, bytes + option + 2, at);
    else
      take_claim(o, bytes + option + 2, at);
    return;
  }
}

static void take_claims(struct observer *o) {
  struct sockaddr_storage from;
  unsigned char bytes[128];
  ssize_t length = 0;
  nanos at = 0;
  for (int i = 0; i < DRAIN_MAX && take(o->fd, bytes, sizeof bytes, &length, &from, &at); i++) {
    if (o->is_ipv6) {
      take_advertisement(o, bytes, (size_t)length, at);
      continue;
    }
    struct sockaddr_ll link;
    memcpy(&link, &from, sizeof link);
    if (link.sll_pkttype != PACKET_OUTGOING) take_arp(o, bytes, (size_t)length, at);
  }
}

/* To the solicited-node group (RFC 4291 2.7.1) from our link-local address, which the kernel chooses. */
static void open_neighbor_observer(struct observer *o, const char *interface, const struct in6_addr *target,
                                   const unsigned char *mac) {
  struct sockaddr_in6 group;
  struct icmp6_filter filter;
  const int hops = 255;
  o->is_ipv6 = true;
  o->fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);
  if (o->fd < 0) fail("open an ICMPv6 socket");
  ICMP6_FILTER_SETBLOCKALL(&filter);
  ICMP6_FILTER_SETPASS(ND_NEIGHBOR_ADVERT, &filter);
  if (setsockopt(o->fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) != 0) fail("choose what to hear");
  if (setsockopt(o->fd, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface)) != 0)
    fail("bind to that interface");
  if (setsockopt(o->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) != 0) fail("set the hop limit");
  memset(&group, 0, sizeof group);
  group.sin6_family = AF_INET6;
  group.sin6_scope_id = if_nametoindex(interface);
  memcpy(group.sin6_addr.s6_addr, "\xff\x02\0\0\0\0\0\0\0\0\0\x01\xff", 13);
  memcpy(group.sin6_addr.s6_addr + 13, target->s6_addr + 13, 3);
  memcpy(&o->everybody, &group, sizeof group);
  o->everybody_length = sizeof group;
  o->solicitation.header.nd_ns_type = ND_NEIGHBOR_SOLICIT;
  memcpy(&o->solicitation.header.nd_ns_target, target, sizeof *target);
  o->solicitation.option.nd_opt_type = ND_OPT_SOURCE_LINKADDR;
  o->solicitation.option.nd_opt_len = 1;
  memcpy(o->solicitation.mac, mac, ETH_ALEN);
}

static void open_arp_observer(struct observer *o, const char *interface, struct ifreq *query) {
  struct sockaddr_ll broadcast;
  memset(&broadcast, 0, sizeof broadcast);
  o->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETHERTYPE_ARP));
  if (o->fd < 0) fail("open a packet socket");
  broadcast.sll_family = AF_PACKET;
  broadcast.sll_protocol = htons(ETHERTYPE_ARP);
  broadcast.sll_ifindex = (int)if_nametoindex(interface);
  broadcast.sll_halen = ETH_ALEN;
  memset(broadcast.sll_addr, 0xff, ETH_ALEN);
  if (bind(o->fd, (const struct sockaddr *)&broadcast, sizeof broadcast) != 0) fail("bind to that interface");
  memcpy(&o->everybody, &broadcast, sizeof broadcast);
  o->everybody_length = sizeof broadcast;
  o->request.arp_hrd = htons(ARPHRD_ETHER);
  o->request.arp_pro = htons(ETHERTYPE_IP);
  o->request.arp_hln = ETH_ALEN;
  o->request.arp_pln = 4;
  o->request.arp_op = htons(ARPOP_REQUEST);
  memcpy(o->request.arp_sha, query->ifr_hwaddr.sa_data, ETH_ALEN);
  /* ioctl of an IPv4 address wants an IPv4 socket. Without one the question is an ARP probe, sender 0.0.0.0. */
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("open a socket");
  query->ifr_addr.sa_family = AF_INET;
  if (ioctl(fd, SIOCGIFADDR, query) == 0) {
    struct sockaddr_in own;
    memcpy(&own, &query->ifr_addr, sizeof own);
    memcpy(o->request.arp_spa, &own.sin_addr, 4);
  }
  (void)close(fd);
}

static void open_observer(struct observer *o, const char *interface, const char *address) {
  struct ifreq query;
  struct in6_addr target;
  if (strlen(interface) >= sizeof query.ifr_name) wrong_usage();
  memset(&query, 0, sizeof query);
  memcpy(query.ifr_name, interface, strlen(interface));
  if (if_nametoindex(interface) == 0) fail("find that interface");
  const int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("open a packet socket");
  if (ioctl(fd, SIOCGIFHWADDR, &query) != 0) fail("read the interface's MAC address");
  (void)close(fd);
  o->address = address;
  if (inet_pton(AF_INET6, address, &target) == 1)
    open_neighbor_observer(o, interface, &target, (const unsigned char *)query.ifr_hwaddr.sa_data);
  else if (inet_pton(AF_INET, address, o->request.arp_tpa) == 1)
    open_arp_observer(o, interface, &query);
  else
    wrong_usage();
  enable(o->fd, SOL_SOCKET, SO_TIMESTAMPNS, "ask for receive times");
}

static void summarize_claims(const struct observer *o, nanos began, nanos ended) {
  char text[18];
  printf("{\"t\":%.3f,\"event\":\"summary\",\"rounds\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"overlapMs\":%.3f"
         ",\"announcements\":%" PRIu64 ",\"sendErrors\":%" PRIu64 ",\"ms\":%.3f,\"byMac\":{",
         ms(ended), o->rounds, o->answered_rounds, ms(o->overlap), o->announcements, o->send_errors, ms(ended - began));
  for (int i = 0; i < o->total.count; i++)
    printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", mac_text(o->total.macs[i].bytes, text), o->answers[i]);
  line("}}");
}

static int arp(const struct options *options) {
  static struct observer o;
  if (options->count != 3) wrong_usage();
  open_observer(&o, options->words[1], options->words[2]);
  const nanos interval = (nanos)(options->interval_us > 0 ? options->interval_us : 10000) * 1000;
  if (options->fifo) become_fifo();
  const int signals = end_signals();
  const nanos began = now();
  const nanos end = options->duration_ms > 0 ? began + (nanos)options->duration_ms * 1000000 : INT64_MAX;
  struct pollfd watched[3] = {{.fd = ticks(began + interval, interval), .events = POLLIN, .revents = 0},
                              {.fd = o.fd, .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  line("{\"t\":%.3f,\"event\":\"start\",\"intervalUs\":%" PRId64 "}", ms(began), interval / 1000);
  for (;;) {
    if (poll(watched, 3, 100) < 0 && errno != EINTR) fail("poll");
    take_claims(&o);
    const nanos time = now();
    const bool over = time >= end || watched[2].revents != 0;
    if (over || expirations(watched[0].fd) > 0) {
      finish_round(&o, time);
      if (over) {
        summarize_claims(&o, began, time);
        return EXIT_SUCCESS;
      }
      ask(&o);
    }
  }
}

/* ---- main ---- */

static struct options read_options(int count, char **arguments) {
  struct options options;
  memset(&options, 0, sizeof options);
  for (int i = 1; i < count; i++) {
    const char *const word = arguments[i];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(usage_text, stdout);
      exit(EXIT_SUCCESS);
    }
    if (strncmp(word, "--", 2) != 0) {
      if (options.count == 3) wrong_usage();
      options.words[options.count++] = word;
    } else if (strcmp(word, "--fifo") == 0) {
      options.fifo = true;
    } else {
      if (i + 1 >= count) wrong_usage();
      const char *const value = arguments[++i];
      if (strcmp(word, "--bind") == 0)
        options.bind = value;
      else if (strcmp(word, "--interval-us") == 0)
        options.interval_us = number(value, 50, 60000000);
      else if (strcmp(word, "--interval-ms") == 0)
        options.interval_us = 1000 * number(value, 1, 60000);
      else if (strcmp(word, "--duration-ms") == 0)
        options.duration_ms = number(value, 1, 1000000000);
      else
        wrong_usage();
    }
  }
  return options;
}

int main(int count, char **arguments) {
  const struct options options = read_options(count, arguments);
  if (options.count == 0) wrong_usage();
  if (strcmp(options.words[0], "respond") == 0) return respond(&options);
  if (strcmp(options.words[0], "probe") == 0) return probe(&options);
  if (strcmp(options.words[0], "arp") == 0) return arp(&options);
  wrong_usage();
}
