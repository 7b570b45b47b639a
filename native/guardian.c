/*
 * The guardian: parent of the engine, PID 1 of a container, executor of the engine's last will, and the only one who
 * renews the lifetime of its addresses. Decided here: when the engine counts as gone (its process ended, or its end of
 * the channel closed) or as absent (a deadline passed), that everything it sent before is read first, that addresses go
 * before packets, that one request that fails stops no other, that nothing is renewed after a withdrawal, and that a
 * signal which would end an engine that is still starting waits until it listens.
 * Refuses to know: VRRP, rtnetlink and addresses. A will is bytes: requests and packets that arrive complete.
 *
 * Channel: socketpair(AF_UNIX, SOCK_SEQPACKET), non-blocking at both ends; the engine finds its descriptor's number in
 * HOLDFAST_GUARDIAN_FD. What the guardian writes is a call, whatever it says: the machine was suspended, and the engine
 * should look at its clocks now. One message of the engine is one order, native byte order, at most 2 MiB:
 *   @0  u8  format    1
 *   @1  u8  kind      1 = arm: replaces the unit's will; 2 = withdraw; 3 = guard: arm, with word, deadline and renewals;
 *                     4 = look: a deadline came nearer (nothing follows the header of 2 and 4)
 *                     5 = tell: what follows the header are words for the service manager (sd_notify(3)), at most 4 KiB,
 *                     passed on as they are; READY=1 of the start and WATCHDOG=1 are said here
 *   @2  u16 unit
 *   @4  u32 requests
 *   @8  u32 packets
 *   kind 3 only, before the requests:
 *       @12 u32 renewals   requests that follow the others and are sent every period while the word is armed
 *       @16 u32 period     ms; 0 = once, now. Another period than that of the will before: the first of them now
 *       @20 u32 generation of the word that speaks of this will (guardian-words.h)
 *       @24 u32 grace      ms: later than that after the deadline the packets are left out, 0 = never
 *   then per request:  @0 u32 length; @4 the bytes (one complete nlmsghdr message), zeros up to a multiple of 4
 *        per packet:   @0 u8 family (4 or 6); @1 u8 TTL or hop limit, 0 = 255; @2 u16 zero; @4 u32 interface index;
 *                     @8 16 bytes source;
 *                     @24 16 bytes destination (IPv4 in the first 4); @40 u32 length; @44 the bytes (payload of
 *                     protocol 112, checksum included), zeros up to a multiple of 4
 * Sequence numbers are set here, NLM_F_REQUEST and NLM_F_ACK too. A message that breaks these rules is told on stderr
 * and ignored; the unit keeps the will that it had. New kinds extend this; format changes when offsets do.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guardian-words.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif
#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

#define CHANNEL_VARIABLE "HOLDFAST_GUARDIAN_FD"
#define MANAGER_VARIABLE "HOLDFAST_SERVICE_MANAGER" /* it is there when somebody hears what is told */
#define EXIT_USAGE 64
#define HOLD_MS 60000 /* for an engine that never listens; a node that boots may need that long to start one */
#define HOLD_LOOK_MS 20
#define NAME_SIZE 16 /* of a process, with its end (prctl(2)) */
#define EXIT_NOT_STARTED 127
#define REALTIME_DEFAULT 20
#define REALTIME_MAX 99

#define FORMAT 1
#define KIND_ARM 1
#define KIND_WITHDRAW 2
#define KIND_GUARD 3
#define KIND_LOOK 4
#define KIND_TELL 5
#define HEADER_SIZE 12u
#define GUARD_SIZE 28u
#define PACKET_SIZE 44u
/* 255 IPv6 addresses to 254 unicast peers are 1.1 MB; the kernel wants a message whole in the sender's buffer. */
#define MESSAGE_MAX (2u << 20)
#define UNITS 65536u
#define CHANNEL_BUFFER (4 << 20)
#define TELL_MAX 4096u

#define PROTOCOL 112
#define TRAFFIC_CLASS 0xc0
#define HOPS 255
#define ACK_LIMIT_MS 100
#define RENEWAL_ACK_LIMIT_MS 20 /* a renewal holds the unit's word, and comes again */
#define BEAT_MS 250
#define SILENCE_MS 2000 /* of the engine, then it is told */
#define SLEEP_MS 10 /* of the machine: less is how far apart two clocks are read */
#define BATCH_REQUESTS 64
#define BATCH_BYTES (32u << 10)
#define ACK_SIZE 1024 /* with the request that it answers, where the kernel does not leave that out */
#define RENEWAL_CHUNK 16u /* requests: some 0.2 ms, of the 5 for which an engine waits for a busy word */
#define SEND_TRIES 4 /* a full device queue (ENOBUFS) is tried again after a millisecond */
#define MESSAGES_PER_TURN 256 /* a babbling engine must not keep signals waiting */
#define DRAINS_MAX 64 /* nor keep a deadline waiting */
#define COMPLAINTS_PER_S 10

/* pino's levels */
#define WARN 40
#define ERROR 50

struct will {
  struct will *next;
  struct will *previous;
  uint16_t unit;
  uint32_t requests;
  uint32_t packets;
  uint32_t renewals;
  bool guarded; /* by a word; what follows is 0 without */
  uint32_t generation;
  uint64_t grace; /* ns, as the period and every moment */
  uint64_t period;
  uint64_t renew_at;
  enum { LEAVE, ADDRESSES_ONLY, EVERYTHING } part; /* of it that is being executed */
  size_t body; /* where the requests begin */
  size_t size;
  unsigned char bytes[]; /* the message as it came, checked */
};

struct counts {
  unsigned wills, requests, done, absent, failed, packets, sent;
};

struct engine {
  pid_t pid; /* 0 once it was reaped */
  int pidfd; /* -1 where the kernel has none: then SIGCHLD alone tells */
  int channel; /* -1 once it was closed */
  int status; /* of waitpid, valid when pid is 0 */
  bool gone; /* dead or out of touch: the wills have been executed */
  bool listens; /* it has said what its signals mean */
  uint64_t held; /* signals that wait until it does, a bit each */
  uint64_t hold_until; /* ns, 0 = nothing is held */
};

struct options {
  int realtime; /* 0 = no */
  bool core;
  bool background;
  const char *name; /* NULL = as it is */
  char **program;
};

static struct will *by_unit[UNITS];
static struct will *first_will, *last_will;
static unsigned char message[MESSAGE_MAX + 1];
static int netlink_fd = -1, raw4_fd = -1, raw6_fd = -1;
static uint32_t sequence;
static double patience; /* ms that all ACKs of one execution or renewal may take together */
static struct guardian_words *words; /* NULL where the kernel gave no memory: then only death executes a will */
static int words_fd = -1;
static int started_fd = -1; /* to the process that was started, until it knows */
static struct {
  int fd; /* -1 = there is none */
  struct sockaddr_un to;
  socklen_t size;
  bool ready; /* it has heard that the engine runs */
  bool deaf; /* it could not be told the last time */
  uint64_t patience; /* ns that it waits for a word of ours (WatchdogSec=), 0 = for ever */
  uint64_t next; /* when it is to hear the next one */
  uint64_t beat; /* of the engine, when it heard the last one */
} manager = {.fd = -1}; /* the service manager, who waits to hear that the engine runs (sd_notify(3)) */

/* ---- time and log ---- */

static double clock_ms(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return 0;
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static uint64_t now_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One line, at most 4096 bytes: a pipe that poll calls writable takes that much without blocking. */
struct line {
  char bytes[4096];
  size_t length;
};

#define LINE_ROOM (sizeof((struct line *)NULL)->bytes - 8) /* the end of the object always fits */

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *line, const char *format, ...) {
  if (line->length >= LINE_ROOM) return;
  const size_t room = LINE_ROOM - line->length;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line->bytes + line->length, room, format, arguments);
  va_end(arguments);
  /* A piece that does not fit is left out whole, so that the line stays JSON. */
  if (length > 0 && (size_t)length < room) line->length += (size_t)length;
}

static void add_text(struct line *line, const char *name, const char *text) {
  char safe[512];
  size_t at = 0;
  for (; *text != '\0' && at < sizeof safe - 3; text++) {
    const unsigned char byte = (unsigned char)*text;
    if (byte == '"' || byte == '\\') safe[at++] = '\\';
    safe[at++] = byte < 0x20 || byte >= 0x7f ? '?' : (char)byte;
  }
  safe[at] = '\0';
  add(line, ",\"%s\":\"%s\"", name, safe);
}

static void begin_line(struct line *line, int level, const char *text) {
  line->length = 0;
  add(line, "{\"level\":%d,\"time\":%.0f,\"pid\":%ld,\"name\":\"guardian\"", level, clock_ms(CLOCK_REALTIME),
      (long)getpid());
  add_text(line, "msg", text);
}

/* Standard error, opened once more where that is a pipe, so that this process alone does not wait when it is full. */
static int lines_fd = STDERR_FILENO;

/*
 * Another process may fill a pipe or a socket between a poll and a write, and O_NONBLOCK set on standard error would hold
 * for all processes that share it. A pipe that may not be opened again (made by another user) is polled and written.
 */
static void open_lines(void) {
  struct stat status;
  if (fstat(STDERR_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  const int own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (own >= 0) lines_fd = own;
}

static ssize_t write_now(const char *bytes, size_t length) {
  const ssize_t sent = send(lines_fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? write(lines_fd, bytes, length) : sent;
}

/* A reader that stopped costs lines, never time. */
static void end_line(struct line *line) {
  memcpy(line->bytes + line->length, "}\n", 2);
  line->length += 2;
  struct pollfd out = {.fd = lines_fd, .events = POLLOUT, .revents = 0};
  if (poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) return;
  size_t at = 0;
  while (at < line->length) {
    const ssize_t written = write_now(line->bytes + at, line->length - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += (size_t)written;
  }
}

static const char *errno_name(int number) {
  static char other[24];
  static const struct {
    int number;
    const char *name;
  } names[] = {{EPERM, "EPERM"},           {EACCES, "EACCES"},           {EADDRNOTAVAIL, "EADDRNOTAVAIL"},
               {ENODEV, "ENODEV"},         {ENXIO, "ENXIO"},             {ENETDOWN, "ENETDOWN"},
               {ENOBUFS, "ENOBUFS"},       {ENETUNREACH, "ENETUNREACH"}, {EHOSTUNREACH, "EHOSTUNREACH"},
               {EINVAL, "EINVAL"},         {EAGAIN, "EAGAIN"},           {EMSGSIZE, "EMSGSIZE"},
               {ENOMEM, "ENOMEM"},         {ENOENT, "ENOENT"},           {ENOTDIR, "ENOTDIR"},
               {ENOEXEC, "ENOEXEC"},       {ETIMEDOUT, "ETIMEDOUT"},     {EBADF, "EBADF"},
               {EOPNOTSUPP, "EOPNOTSUPP"}, {ESRCH, "ESRCH"},             {EAFNOSUPPORT, "EAFNOSUPPORT"},
               {EMFILE, "EMFILE"},         {ENFILE, "ENFILE"},           {EEXIST, "EEXIST"},
               {EBUSY, "EBUSY"},           {EDESTADDRREQ, "EDESTADDRREQ"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].number == number) return names[i].name;
  (void)snprintf(other, sizeof other, "errno %d", number);
  return other;
}

static void complain(int level, const char *text, const char *syscall_name, int number) {
  struct line line;
  begin_line(&line, level, text);
  if (syscall_name != NULL) {
    add_text(&line, "syscall", syscall_name);
    add_text(&line, "code", errno_name(number));
  }
  end_line(&line);
}

/* ---- wills ---- */

static uint16_t u16_at(const unsigned char *bytes) {
  uint16_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

static uint32_t u32_at(const unsigned char *bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

/* Bytes of a field of that length with its padding; 0 when it reaches past `left`. */
static size_t padded(uint32_t length, size_t left) {
  if (length > left) return 0;
  const size_t size = ((size_t)length + 3) & ~(size_t)3;
  return size > left ? 0 : size;
}

/* Walks a will. NULL, or what is wrong with it. */
static const char *check_will(const unsigned char *bytes, size_t size, size_t at, uint64_t requests, uint32_t packets) {
  for (uint64_t i = 0; i < requests; i++) {
    if (size - at < 4) return "a request is cut";
    const uint32_t length = u32_at(bytes + at);
    const size_t room = padded(length, size - at - 4);
    if (room == 0) return "a request reaches past the message";
    if (length < NLMSG_HDRLEN || u32_at(bytes + at + 4) != length) return "a request is no netlink message";
    at += 4 + room;
  }
  for (uint32_t i = 0; i < packets; i++) {
    if (size - at < PACKET_SIZE) return "a packet is cut";
    if (bytes[at] != 4 && bytes[at] != 6) return "a packet's family is neither 4 nor 6";
    const uint32_t length = u32_at(bytes + at + 40);
    const size_t room = padded(length, size - at - PACKET_SIZE);
    if (room == 0) return "a packet reaches past the message";
    at += PACKET_SIZE + room;
  }
  return at == size ? NULL : "bytes are left over";
}

static void forget(uint16_t unit) {
  struct will *will = by_unit[unit];
  if (will == NULL) return;
  by_unit[unit] = NULL;
  *(will->previous != NULL ? &will->previous->next : &first_will) = will->next;
  *(will->next != NULL ? &will->next->previous : &last_will) = will->previous;
  free(will);
}

/* Of which generation the word is armed for; 0 = it is not. */
static uint32_t armed_generation(uint32_t word) {
  return (word & WORD_ARMED) != 0 ? word >> WORD_GENERATION : 0;
}

static uint32_t *word_of(const struct will *will) {
  return &words->unit[will->unit].word;
}

/* The engine still stands behind this will, and not behind a newer one that has not been read. */
static bool stands(const struct will *will) {
  return will->guarded && armed_generation(__atomic_load_n(word_of(will), __ATOMIC_SEQ_CST)) == will->generation;
}

/*
 * A will that is replaced often must be renewed all the same. Another period means another lifetime, and one that is sent
 * without a period is there to end it: what is installed gets the new one in place, at once.
 */
static uint64_t first_renewal(const struct will *before, uint64_t period) {
  const uint64_t now = now_ns();
  if (period == 0 || (before != NULL && before->period != period)) return now;
  const uint64_t next = now + period;
  return before != NULL && before->renew_at != 0 && before->renew_at < next ? before->renew_at : next;
}

static const char *arm(const unsigned char *bytes, size_t size) {
  const bool guarded = bytes[1] == KIND_GUARD;
  const uint16_t unit = u16_at(bytes + 2);
  const uint32_t requests = u32_at(bytes + 4), packets = u32_at(bytes + 8);
  const size_t body = guarded ? GUARD_SIZE : HEADER_SIZE;
  if (size < body) return "it is shorter than its header";
  if (guarded && words == NULL) return "there is no shared memory to guard it with";
  const uint32_t renewals = guarded ? u32_at(bytes + 12) : 0;
  const uint32_t generation = guarded ? u32_at(bytes + 20) : 0;
  if (guarded && (generation == 0 || generation > WORD_GENERATIONS)) return "its generation is out of range";
  const char *const fault = check_will(bytes, size, body, (uint64_t)requests + renewals, packets);
  if (fault != NULL) return fault;
  struct will *will = malloc(sizeof *will + size);
  if (will == NULL) return "no memory to keep it";
  will->unit = unit;
  will->requests = requests;
  will->packets = packets;
  will->renewals = renewals;
  will->guarded = guarded;
  will->generation = generation;
  will->grace = guarded ? (uint64_t)u32_at(bytes + 24) * 1000000u : 0;
  will->period = guarded ? (uint64_t)u32_at(bytes + 16) * 1000000u : 0;
  will->renew_at = renewals == 0 ? 0 : first_renewal(by_unit[unit], will->period);
  will->part = LEAVE;
  will->body = body;
  will->size = size;
  memcpy(will->bytes, bytes, size);
  forget(unit);
  will->next = NULL;
  will->previous = last_will;
  *(last_will != NULL ? &last_will->next : &first_will) = will;
  last_will = will;
  by_unit[unit] = will;
  return NULL;
}

/* Never waits for it. What it does not hear is told once. */
static void tell_manager(const void *text, size_t length) {
  if (manager.fd < 0) return;
  const struct sockaddr *const to = (const struct sockaddr *)&manager.to;
  const bool deaf = sendto(manager.fd, text, length, MSG_NOSIGNAL, to, manager.size) < 0;
  if (deaf && !manager.deaf) complain(WARN, "cannot tell the service manager", "sendto", errno);
  manager.deaf = deaf;
}

/* NULL, or why the message is ignored. */
static const char *obey(const unsigned char *bytes, size_t size) {
  if (size < HEADER_SIZE) return "it is shorter than a header";
  if (bytes[0] != FORMAT) return "its format is unknown";
  if (bytes[1] == KIND_ARM || bytes[1] == KIND_GUARD) return arm(bytes, size);
  if (bytes[1] == KIND_TELL) {
    if (size == HEADER_SIZE || size - HEADER_SIZE > TELL_MAX) return "its words are none, or too many";
    tell_manager(bytes + HEADER_SIZE, size - HEADER_SIZE);
    return NULL;
  }
  if (bytes[1] != KIND_WITHDRAW && bytes[1] != KIND_LOOK) return "its kind is unknown";
  if (size != HEADER_SIZE || u32_at(bytes + 4) != 0 || u32_at(bytes + 8) != 0) return "bytes follow where none belong";
  if (bytes[1] == KIND_LOOK) return NULL; /* it has been read: that was its purpose */
  forget(u16_at(bytes + 2));
  return NULL;
}

static void report_message(const char *fault, size_t size) {
  static time_t second;
  static unsigned count;
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec != second) {
    second = now.tv_sec;
    count = 0;
  }
  if (count++ >= COMPLAINTS_PER_S) return;
  struct line line;
  begin_line(&line, WARN, "ignored a message of the engine");
  add_text(&line, "reason", fault);
  add(&line, ",\"bytes\":%zu", size);
  end_line(&line);
}

enum reading { READ_EMPTY, READ_MORE, READ_CLOSED };

/* A message of no bytes and the end of the channel both read as 0; only a message brings its sender's credentials. */
static enum reading read_channel(int fd, int limit) {
  for (int i = 0; i < limit; i++) {
    union {
      struct cmsghdr align;
      char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec vector = {message, sizeof message};
    struct msghdr header;
    memset(&header, 0, sizeof header);
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
    const ssize_t length = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0) {
      if (errno == EINTR || errno == ECONNRESET) continue; /* a reset hides messages that still wait */
      return errno == EAGAIN || errno == EWOULDBLOCK ? READ_EMPTY : READ_CLOSED;
    }
    if (length == 0 && header.msg_controllen == 0) return READ_CLOSED;
    const bool cut = (header.msg_flags & MSG_TRUNC) != 0 || (size_t)length > MESSAGE_MAX;
    const char *const fault = cut ? "it is longer than 2 MiB" : obey(message, (size_t)length);
    if (fault != NULL) report_message(fault, (size_t)length);
  }
  return READ_MORE;
}

/* ---- execution ---- */

/* The errors of one execution, told in one line. */
struct errors {
  char text[2048];
  size_t length;
};

static void note_error(struct errors *errors, const char *kind, uint16_t unit, uint32_t index, int number) {
  const size_t room = sizeof errors->text - errors->length;
  const int length = snprintf(errors->text + errors->length, room, "%s\"unit %u %s %u: %s\"",
                              errors->length > 0 ? "," : "", unit, kind, index, errno_name(number));
  if (length > 0 && (size_t)length < room)
    errors->length += (size_t)length;
  else
    errors->text[errors->length] = '\0';
}

static void option(int fd, int level, int name, int value) {
  /* Each has a working default or a visible consequence (an error of the send); none is worth not starting. */
  (void)setsockopt(fd, level, name, &value, sizeof value);
}

static int raw_socket(int family) {
  /* Only for sending: a filter that accepts nothing keeps the receive queue empty. */
  struct sock_filter nothing = {BPF_RET | BPF_K, 0, 0, 0};
  const struct sock_fprog program = {1, &nothing};
  const int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, PROTOCOL);
  if (fd < 0) return -1;
  (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  if (family == AF_INET) {
    option(fd, IPPROTO_IP, IP_TTL, HOPS);
    option(fd, IPPROTO_IP, IP_MULTICAST_TTL, HOPS);
    option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
    option(fd, IPPROTO_IP, IP_TOS, TRAFFIC_CLASS);
  } else {
    option(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, HOPS);
    option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOPS);
    option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
    option(fd, IPPROTO_IPV6, IPV6_TCLASS, TRAFFIC_CLASS);
  }
  return fd;
}

/*
 * Opened before the engine starts, so that executing a will opens nothing; what failed is tried again then. Without the
 * privilege nothing is said here: the engine names the missing capability itself.
 */
static void open_sockets(void) {
  if (netlink_fd < 0) {
    netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (netlink_fd >= 0) {
      option(netlink_fd, SOL_SOCKET, SO_RCVBUF, CHANNEL_BUFFER);
      option(netlink_fd, SOL_SOCKET, SO_RCVBUFFORCE, CHANNEL_BUFFER);
      option(netlink_fd, SOL_SOCKET, SO_SNDBUF, 2 * (int)MESSAGE_MAX);
      option(netlink_fd, SOL_SOCKET, SO_SNDBUFFORCE, 2 * (int)MESSAGE_MAX);
      option(netlink_fd, SOL_NETLINK, NETLINK_CAP_ACK, 1); /* an ACK need not carry the request */
      /* The kernel would choose the port at the first request otherwise, and list the socket only from then on. */
      const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
      (void)bind(netlink_fd, (const struct sockaddr *)&any, sizeof any);
    }
  }
  if (raw4_fd < 0) raw4_fd = raw_socket(AF_INET);
  if (raw6_fd < 0) raw6_fd = raw_socket(AF_INET6);
}

/* Requests that wait for their ACK. */
struct batch {
  struct iovec vectors[BATCH_REQUESTS];
  struct {
    uint16_t unit;
    uint32_t index;
    bool answered;
  } asked[BATCH_REQUESTS];
  int count;
  size_t size;
  uint32_t first; /* sequence number of the first */
};

static void judge(struct counts *counts, struct errors *errors, const struct batch *batch, int i, int number) {
  if (number == 0) {
    counts->done++;
  } else if (number == EADDRNOTAVAIL || number == ENODEV) {
    counts->absent++; /* it is not there, or its interface is not: what the will wanted */
  } else {
    counts->failed++;
    note_error(errors, "request", batch->asked[i].unit, batch->asked[i].index, number);
  }
}

/* Takes the ACKs of one datagram; how many belonged to the batch. */
static int take_acks(struct counts *counts, struct errors *errors, struct batch *batch, const unsigned char *bytes,
                     size_t size) {
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
      judge(counts, errors, batch, (int)i, -error);
      taken++;
    }
    const size_t step = NLMSG_ALIGN((size_t)header.nlmsg_len);
    if (step > size - at) break;
    at += step;
  }
  return taken;
}

/* Each ACK is a datagram of its own; all that are queued come with one call. Negative: errno is set, EAGAIN = none. */
static int receive_acks(struct counts *counts, struct errors *errors, struct batch *batch) {
  static unsigned char answers[BATCH_REQUESTS][ACK_SIZE];
  static struct mmsghdr messages[BATCH_REQUESTS];
  static struct iovec vectors[BATCH_REQUESTS];
  for (int i = 0; i < batch->count; i++) {
    vectors[i] = (struct iovec){answers[i], sizeof answers[i]};
    messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
  }
  const int count = recvmmsg(netlink_fd, messages, (unsigned)batch->count, MSG_DONTWAIT, NULL);
  int taken = 0;
  for (int i = 0; i < count; i++) taken += take_acks(counts, errors, batch, answers[i], messages[i].msg_len);
  return count < 0 ? count : taken;
}

static void await_acks(struct counts *counts, struct errors *errors, struct batch *batch) {
  int open = batch->count, number = ETIMEDOUT;
  while (open > 0) {
    const int taken = receive_acks(counts, errors, batch);
    if (taken >= 0) {
      open -= taken;
      continue;
    }
    if (errno == EINTR || errno == ENOBUFS) continue; /* an overrun loses some ACKs, the others still come */
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
    if (!batch->asked[i].answered) judge(counts, errors, batch, i, number);
}

static void flush(struct counts *counts, struct errors *errors, struct batch *batch) {
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
    for (int i = 0; i < batch->count; i++) judge(counts, errors, batch, i, number);
  } else {
    await_acks(counts, errors, batch);
  }
  batch->count = 0;
  batch->size = 0;
}

/* Where the request behind this one begins. */
static size_t after_request(const struct will *will, size_t at) {
  return at + 4 + padded(u32_at(will->bytes + at), will->size - at - 4);
}

/* The requests from..to-1, counted from the first of the will. The rest of the batch waits for flush(). */
static void send_requests(struct will *will, uint32_t from, uint32_t to, struct counts *counts, struct errors *errors,
                          struct batch *batch) {
  size_t at = will->body;
  for (uint32_t i = 0; i < to; i++) {
    unsigned char *const request = will->bytes + at + 4;
    const size_t room = padded(u32_at(will->bytes + at), will->size - at - 4);
    at = after_request(will, at);
    if (i < from) continue;
    if (batch->count == BATCH_REQUESTS || (batch->count > 0 && batch->size + room > BATCH_BYTES))
      flush(counts, errors, batch);
    struct nlmsghdr header;
    memcpy(&header, request, sizeof header);
    header.nlmsg_seq = ++sequence;
    header.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
    header.nlmsg_pid = 0;
    memcpy(request, &header, sizeof header);
    if (batch->count == 0) batch->first = sequence;
    batch->vectors[batch->count].iov_base = request;
    batch->vectors[batch->count].iov_len = room; /* with the padding: the next message begins aligned */
    batch->asked[batch->count].unit = will->unit;
    batch->asked[batch->count].index = i;
    batch->asked[batch->count].answered = false;
    batch->count++;
    batch->size += room;
    counts->requests++;
  }
}

/* 0 or errno. Source, interface and hops go along as control messages: no bind, one socket for all. */
static int send_packet(const unsigned char *record) {
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int))];
  } control;
  struct sockaddr_in to4;
  struct sockaddr_in6 to6;
  const bool v4 = record[0] == 4;
  const uint32_t index = u32_at(record + 4);
  const int hops = record[1];
  struct iovec vector = {(unsigned char *)record + PACKET_SIZE, u32_at(record + 40)};
  struct msghdr header;
  memset(&control, 0, sizeof control);
  memset(&to4, 0, sizeof to4);
  memset(&to6, 0, sizeof to6);
  memset(&header, 0, sizeof header);
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = &control;
  struct cmsghdr *const info = &control.align;
  if (v4) {
    struct in_pktinfo packet;
    memset(&packet, 0, sizeof packet);
    packet.ipi_ifindex = (int)index;
    memcpy(&packet.ipi_spec_dst, record + 8, sizeof packet.ipi_spec_dst);
    to4.sin_family = AF_INET;
    memcpy(&to4.sin_addr, record + 24, sizeof to4.sin_addr);
    header.msg_name = &to4;
    header.msg_namelen = sizeof to4;
    header.msg_controllen = CMSG_SPACE(sizeof packet);
    info->cmsg_level = IPPROTO_IP;
    info->cmsg_type = IP_PKTINFO;
    info->cmsg_len = CMSG_LEN(sizeof packet);
    memcpy(CMSG_DATA(info), &packet, sizeof packet);
  } else {
    struct in6_pktinfo packet;
    memset(&packet, 0, sizeof packet);
    packet.ipi6_ifindex = index;
    memcpy(&packet.ipi6_addr, record + 8, sizeof packet.ipi6_addr);
    to6.sin6_family = AF_INET6;
    memcpy(&to6.sin6_addr, record + 24, sizeof to6.sin6_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&to6.sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&to6.sin6_addr)) to6.sin6_scope_id = index;
    header.msg_name = &to6;
    header.msg_namelen = sizeof to6;
    header.msg_controllen = CMSG_SPACE(sizeof packet);
    info->cmsg_level = IPPROTO_IPV6;
    info->cmsg_type = IPV6_PKTINFO;
    info->cmsg_len = CMSG_LEN(sizeof packet);
    memcpy(CMSG_DATA(info), &packet, sizeof packet);
  }
  if (hops != 0) { /* otherwise those of the socket */
    struct cmsghdr *const limit = (struct cmsghdr *)(control.bytes + header.msg_controllen);
    limit->cmsg_level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
    limit->cmsg_type = v4 ? IP_TTL : IPV6_HOPLIMIT;
    limit->cmsg_len = CMSG_LEN(sizeof hops);
    memcpy(CMSG_DATA(limit), &hops, sizeof hops);
    header.msg_controllen += CMSG_SPACE(sizeof hops);
  }
  for (int tries = 1;; tries++) {
    if (sendmsg(v4 ? raw4_fd : raw6_fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
    if (errno == EINTR) continue;
    if ((errno != ENOBUFS && errno != EAGAIN) || tries == SEND_TRIES) return errno;
    const struct timespec pause = {0, 1000000};
    (void)nanosleep(&pause, NULL);
  }
}

static void send_packets(const struct will *will, struct counts *counts, struct errors *errors) {
  size_t at = will->body;
  for (uint64_t i = 0; i < (uint64_t)will->requests + will->renewals; i++) at = after_request(will, at);
  for (uint32_t i = 0; i < will->packets; i++) {
    const unsigned char *const record = will->bytes + at;
    const int number = send_packet(record);
    counts->packets++;
    if (number == 0)
      counts->sent++;
    else
      note_error(errors, "packet", will->unit, i, number);
    at += PACKET_SIZE + padded(u32_at(record + 40), will->size - at - PACKET_SIZE);
  }
}

static uint64_t deadline_of(const struct will *will) {
  return __atomic_load_n(&words->unit[will->unit].deadline, __ATOMIC_SEQ_CST);
}

/* Long after the deadline another node has taken over: to tell the LAN that this one leaves would only mislead. */
static bool too_late_to_speak(const struct will *will, uint64_t now) {
  if (!will->guarded || will->grace == 0) return false;
  const uint64_t deadline = deadline_of(will);
  return deadline != 0 && now > deadline + will->grace;
}

/* From here on the engine reads in the word that it owns nothing. False: it stepped down, or armed anew, in between. */
static bool claim(struct will *will) {
  uint32_t word = __atomic_load_n(word_of(will), __ATOMIC_SEQ_CST);
  do {
    if (armed_generation(word) != will->generation) return false;
  } while (!__atomic_compare_exchange_n(word_of(will), &word, (word & ~WORD_ARMED) | WORD_BUSY | WORD_EXECUTED, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  (void)__atomic_add_fetch(&words->executions, 1, __ATOMIC_SEQ_CST);
  return true;
}

static void release_word(const struct will *will) {
  (void)__atomic_and_fetch(word_of(will), ~WORD_BUSY, __ATOMIC_SEQ_CST);
}

/* Addresses of all units first, then packets: the successor must not act while we still answer for an address. */
static void execute_wills(double noticed_at, const char *why) {
  static struct errors errors;
  static struct batch batch;
  struct counts counts;
  unsigned silent = 0;
  memset(&counts, 0, sizeof counts);
  errors.length = 0;
  errors.text[0] = '\0';
  patience = ACK_LIMIT_MS;
  open_sockets();
  const uint64_t now = now_ns();
  for (struct will *will = first_will; will != NULL; will = will->next) {
    if (will->part == LEAVE) continue;
    if (will->part == EVERYTHING && too_late_to_speak(will, now)) will->part = ADDRESSES_ONLY;
    if (will->part == ADDRESSES_ONLY) silent++;
    send_requests(will, 0, will->requests, &counts, &errors, &batch);
    counts.wills++;
  }
  if (counts.wills == 0) return;
  flush(&counts, &errors, &batch);
  const double removed_at = clock_ms(CLOCK_MONOTONIC);
  for (struct will *will = first_will; will != NULL; will = will->next) {
    if (will->part == EVERYTHING) send_packets(will, &counts, &errors);
    if (will->part != LEAVE && will->guarded) release_word(will);
    will->part = LEAVE;
  }
  const double ended_at = clock_ms(CLOCK_MONOTONIC);
  struct line line;
  char text[160], told[64] = "";
  const bool clean = counts.failed == 0 && counts.sent == counts.packets;
  const unsigned removed = counts.done + counts.absent;
  if (counts.packets > 0)
    (void)snprintf(told, sizeof told, ", %s the other nodes (priority 0)",
                   counts.sent == counts.packets ? "told" : "could not tell all of");
  if (counts.failed == 0)
    (void)snprintf(text, sizeof text, "%s: removed %u VIP%s%s", why, removed, removed == 1 ? "" : "s", told);
  else
    (void)snprintf(text, sizeof text, "%s: removed %u of %u VIPs%s", why, removed, counts.requests, told);
  begin_line(&line, clean ? WARN : ERROR, text);
  add(&line, ",\"wills\":%u,\"silent\":%u,\"requests\":%u,\"removed\":%u,\"absent\":%u,\"failed\":%u", counts.wills,
      silent, counts.requests, counts.done, counts.absent, counts.failed);
  add(&line, ",\"packets\":%u,\"sent\":%u,\"removedMs\":%.3f,\"ms\":%.3f", counts.packets, counts.sent,
      removed_at - noticed_at, ended_at - noticed_at);
  add(&line, ",\"errors\":[%s]", errors.text);
  end_line(&line);
}

/* ---- deadlines, renewals, beats ---- */

static bool overdue(const struct will *will, uint64_t now) {
  if (!stands(will)) return false;
  const uint64_t deadline = deadline_of(will);
  return deadline != 0 && deadline <= now;
}

static bool any_overdue(uint64_t now) {
  for (const struct will *will = first_will; will != NULL; will = will->next)
    if (overdue(will, now)) return true;
  return false;
}

/* Units whose words are busy until their requests have been answered. */
struct renewals {
  struct will *wills[RENEWAL_CHUNK];
  unsigned count;
  uint32_t requests;
  struct batch batch;
};

/* Also counted when the kernel took the address meanwhile: then REPLACE creates it, which its engine wants. */
static void end_renewals(struct renewals *chunk, struct counts *counts, struct errors *errors) {
  flush(counts, errors, &chunk->batch);
  unsigned late = 0;
  for (unsigned i = 0; i < chunk->count; i++) {
    struct will *const will = chunk->wills[i];
    if ((__atomic_load_n(word_of(will), __ATOMIC_SEQ_CST) & WORD_ARMED) != 0)
      release_word(will);
    else
      chunk->wills[late++] = will;
  }
  /*
   * An engine that waited in vain for us has taken its addresses off by now, and we may have brought them back. Only a
   * word that nobody armed again says so: with a newer will they may be wanted, and its engine sees what came.
   */
  for (unsigned i = 0; i < late; i++) {
    struct will *const will = chunk->wills[i];
    send_requests(will, 0, will->requests, counts, errors, &chunk->batch);
    flush(counts, errors, &chunk->batch);
    release_word(will);
  }
  chunk->count = 0;
  chunk->requests = 0;
}

/*
 * Many small units share one system call. Each word is busy from before its own request leaves until that has been
 * answered, as if it were alone, so nothing is renewed behind the back of an engine that steps down. What it waits for is
 * longer: a chunk and not its own unit, hence the bound of the chunk. A large unit is a chunk by itself.
 */
static void renew(struct will *will, uint64_t now, struct renewals *chunk, struct counts *counts, struct errors *errors) {
  if (chunk->count == RENEWAL_CHUNK || (chunk->count > 0 && chunk->requests + will->renewals > RENEWAL_CHUNK))
    end_renewals(chunk, counts, errors);
  uint32_t word = __atomic_load_n(word_of(will), __ATOMIC_SEQ_CST);
  will->renew_at = will->period == 0 ? 0 : now + will->period;
  do {
    if (armed_generation(word) != will->generation) return;
  } while (!__atomic_compare_exchange_n(word_of(will), &word, word | WORD_BUSY, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
  chunk->wills[chunk->count++] = will;
  chunk->requests += will->renewals;
  send_requests(will, will->requests, will->requests + will->renewals, counts, errors, &chunk->batch);
}

/*
 * One is due: all go together, in one wake-up. The kernel looks for expired addresses once a second at the most, so of two
 * that expire less than a second apart the second stays for that second. Renewed together they are whole seconds apart.
 */
static void renew_all(uint64_t now) {
  static struct errors errors;
  static struct renewals chunk;
  static uint64_t told_at;
  struct counts counts;
  bool due = false;
  for (const struct will *will = first_will; will != NULL && !due; will = will->next)
    due = will->renew_at != 0 && will->renew_at <= now;
  if (!due) return;
  memset(&counts, 0, sizeof counts);
  errors.length = 0;
  errors.text[0] = '\0';
  patience = RENEWAL_ACK_LIMIT_MS;
  open_sockets();
  for (struct will *will = first_will; will != NULL; will = will->next)
    if (will->renew_at != 0) renew(will, now, &chunk, &counts, &errors);
  end_renewals(&chunk, &counts, &errors);
  if (counts.failed == 0 || (told_at != 0 && now - told_at < 1000000000u)) return;
  told_at = now;
  struct line line;
  begin_line(&line, WARN, "cannot renew the lifetime of addresses");
  add(&line, ",\"failed\":%u,\"errors\":[%s]", counts.failed, errors.text);
  end_line(&line);
}

/* A beat every BEAT_MS; an engine that does not beat is told once. */
static void beat(uint64_t now) {
  static bool told;
  __atomic_store_n(&words->guardian_beat, now, __ATOMIC_SEQ_CST);
  const uint64_t engine = __atomic_load_n(&words->engine_beat, __ATOMIC_SEQ_CST);
  const bool silent = engine != 0 && now > engine && now - engine > (uint64_t)SILENCE_MS * 1000000u;
  if (silent == told) return;
  told = silent;
  struct line line;
  begin_line(&line, WARN, silent ? "the engine does not answer" : "the engine answers again");
  if (silent) add(&line, ",\"silentMs\":%.0f", (double)(now - engine) / 1e6);
  end_line(&line);
}

/* The engine looks at its clocks, and beats. One that does not fit into the channel finds others that are not read yet. */
static void call(const struct engine *engine) {
  if (engine->channel >= 0) (void)send(engine->channel, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * A suspended machine goes on where it was: an engine whose next alarm is far away would keep the addresses that another
 * node has taken over meanwhile. This process wakes anyway, and a call too many costs the engine no more than a look.
 */
static void call_after_sleep(const struct engine *engine) {
  static double asleep = -1; /* not known yet */
  const double monotonic = clock_ms(CLOCK_MONOTONIC), before = asleep;
  asleep = clock_ms(CLOCK_BOOTTIME) - monotonic;
  if (before >= 0 && asleep - before >= SLEEP_MS) call(engine);
}

/* When to look next, unless something comes first. A deadline that moved away costs one look. */
static struct timespec next_look(uint64_t now) {
  uint64_t at = now + (uint64_t)BEAT_MS * 1000000u;
  for (const struct will *will = first_will; will != NULL; will = will->next) {
    if (!stands(will)) continue;
    const uint64_t deadline = deadline_of(will);
    if (deadline != 0 && deadline < at) at = deadline;
    if (will->renew_at != 0 && will->renew_at < at) at = will->renew_at;
  }
  const uint64_t wait = at > now ? at - now : 0;
  return (struct timespec){.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
}

/* Gone, and what it meant by its last word: a unit that had stepped down is not announced as leaving once more. */
static void choose_all(void) {
  for (struct will *will = first_will; will != NULL; will = will->next)
    will->part = !will->guarded || claim(will) ? EVERYTHING : ADDRESSES_ONLY;
}

/* Dead, or its end of the channel closed. What it said before that counts: this process may have been the slow one. */
static void engine_gone(struct engine *engine) {
  if (engine->gone) return;
  const double noticed_at = clock_ms(CLOCK_MONOTONIC);
  engine->gone = true;
  if (engine->channel >= 0) {
    while (read_channel(engine->channel, MESSAGES_PER_TURN) == READ_MORE) continue;
    (void)close(engine->channel);
    engine->channel = -1;
  }
  choose_all();
  execute_wills(noticed_at, "engine died");
  /* The blocks stay: nothing is freed or allocated on the way out. */
  first_will = last_will = NULL;
  memset(by_unit, 0, sizeof by_unit);
}

/*
 * The engine lives but has not spoken in time. Whoever stalled may have been this process: what waits in the channel is
 * read and the deadlines are read again before anything is done; claim() asks only whether the will still stands.
 */
static void keep_deadlines(struct engine *engine) {
  if (engine->gone || !any_overdue(now_ns())) return;
  const double noticed_at = clock_ms(CLOCK_MONOTONIC);
  for (int turns = 0; turns < DRAINS_MAX; turns++) {
    const enum reading reading = read_channel(engine->channel, MESSAGES_PER_TURN);
    if (reading == READ_CLOSED) return engine_gone(engine);
    if (reading == READ_EMPTY) break;
  }
  const uint64_t now = now_ns();
  for (struct will *will = first_will; will != NULL; will = will->next)
    will->part = overdue(will, now) && claim(will) ? EVERYTHING : LEAVE;
  execute_wills(noticed_at, "engine missed its deadline");
}

/* ---- the engine's process ---- */

static void usage(FILE *out) {
  (void)fputs("usage: holdfast-guardian [--realtime[=PRIORITY]] [--core] [--name=NAME] [--background] [--] PROGRAM "
              "[ARGUMENT...]\n"
              "Runs PROGRAM, forwards HUP TERM INT USR1 USR2, exits with its status (128 + signal when a signal ended\n"
              "it), and executes the last will that it sent over the descriptor in " CHANNEL_VARIABLE ".\n"
              "  --realtime[=PRIORITY]  SCHED_RR for its main thread (1 to 99, default 20), and one more for the guardian\n"
              "  --core                 let it write a core dump (that delays the notice of its death)\n"
              "  --name=NAME            what the guardian is called in the list of processes\n"
              "  --background           leave the terminal; the process that was started ends at once\n",
              out);
}

static struct options read_options(int count, char **arguments) {
  struct options options = {0, false, false, NULL, NULL};
  int i = 1;
  for (; i < count && strncmp(arguments[i], "--", 2) == 0; i++) {
    const char *const word = arguments[i];
    if (strcmp(word, "--") == 0) {
      i++;
      break;
    }
    if (strcmp(word, "--help") == 0) {
      usage(stdout);
      exit(EXIT_SUCCESS);
    }
    if (strcmp(word, "--core") == 0) {
      options.core = true;
    } else if (strcmp(word, "--background") == 0) {
      options.background = true;
    } else if (strncmp(word, "--name=", 7) == 0 && word[7] != '\0') {
      options.name = word + 7;
    } else if (strcmp(word, "--realtime") == 0) {
      options.realtime = REALTIME_DEFAULT;
    } else {
      char *end = NULL;
      const long priority = strncmp(word, "--realtime=", 11) == 0 ? strtol(word + 11, &end, 10) : 0;
      if (end == NULL || *end != '\0' || end == word + 11 || priority < 1 || priority > REALTIME_MAX) {
        usage(stderr);
        exit(EXIT_USAGE);
      }
      options.realtime = (int)priority;
    }
  }
  if (i >= count) {
    usage(stderr);
    exit(EXIT_USAGE);
  }
  options.program = arguments + i;
  return options;
}

/*
 * Whoever looks for the daemon by its name finds the process that takes its signals: pgrep and killall read the name of
 * the process, pidof the first argument, which is overwritten in place.
 */
static void be_called(const char *name, char *first_argument) {
  char own[NAME_SIZE];
  (void)snprintf(own, sizeof own, "%s", name);
  (void)prctl(PR_SET_NAME, own);
  const size_t room = strlen(first_argument);
  if (strlen(own) > room) return;
  memset(first_argument, 0, room);
  memcpy(first_argument, own, strlen(own));
}

/* Tells the process that was started how it went, once. */
static void tell_start(int status) {
  const unsigned char byte = (unsigned char)status;
  if (started_fd < 0) return;
  ssize_t written;
  do {
    written = write(started_fd, &byte, 1);
  } while (written < 0 && errno == EINTR);
  (void)close(started_fd);
  started_fd = -1;
}

/* What a service manager allows between two words, in ns; 0 = it does not say, or says it to another process. */
static uint64_t manager_patience(const char *microseconds, const char *pid) {
  if (microseconds == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid())) return 0;
  char *end = NULL;
  const unsigned long long value = strtoull(microseconds, &end, 10);
  return *end != '\0' || value > UINT64_MAX / 1000u ? 0 : (uint64_t)value * 1000u;
}

/*
 * The engine does not inherit the place: a word from it would come from the wrong process (NotifyAccess=main). '@' is an
 * abstract name.
 */
static void find_manager(void) {
  (void)unsetenv(MANAGER_VARIABLE);
  const char *const place = getenv("NOTIFY_SOCKET");
  if (place == NULL || (place[0] != '/' && place[0] != '@')) return;
  const size_t length = strlen(place);
  int number = ENAMETOOLONG;
  if (length < sizeof manager.to.sun_path) {
    manager.to.sun_family = AF_UNIX;
    memcpy(manager.to.sun_path, place, length);
    if (place[0] == '@') manager.to.sun_path[0] = '\0';
    manager.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    number = errno;
  }
  manager.patience = manager_patience(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
  (void)unsetenv("NOTIFY_SOCKET");
  (void)unsetenv("WATCHDOG_USEC");
  (void)unsetenv("WATCHDOG_PID");
  if (manager.fd < 0) return complain(WARN, "cannot tell the service manager", "socket", number);
  (void)setenv(MANAGER_VARIABLE, "1", 1);
}

/* A service manager that waits for a word (Type=notify) hears it from its main process. */
static void tell_ready(void) {
  static const char word[] = "READY=1";
  manager.ready = true;
  tell_manager(word, sizeof word - 1);
}

/*
 * A word twice in the time that the manager allows (WatchdogSec=), but none for an engine whose main thread has not turned
 * since the last one: the manager then does what its unit says, whatever else of the daemon still moves. An engine that has
 * nothing to do need not have turned: it is called once, a beat before.
 */
static void feed_watchdog(const struct engine *engine, uint64_t now) {
  static const char word[] = "WATCHDOG=1";
  static bool called;
  if (manager.patience == 0 || !manager.ready || now + BEAT_MS * UINT64_C(1000000) < manager.next) return;
  const uint64_t turned = __atomic_load_n(&words->engine_beat, __ATOMIC_SEQ_CST);
  if (turned == manager.beat) {
    if (!called) call(engine);
    called = true;
    return;
  }
  if (now < manager.next) return;
  called = false;
  manager.beat = turned;
  manager.next = now + manager.patience / 2;
  tell_manager(word, sizeof word - 1);
}

/*
 * A service manager that waits for the process that it started (Type=forking) sees it end when the engine runs, and with
 * its status when it does not. The log goes where it went.
 */
static pid_t started_guardian;

static void pass_to_guardian(int number) {
  const int kept = errno;
  (void)kill(started_guardian, number);
  errno = kept;
}

/* The process that was started waits until the engine listens: until then a SIGTERM or SIGINT to it ends the engine. */
static void pass_on_while_waiting(pid_t pid) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = pass_to_guardian;
  sigset_t passed;
  sigemptyset(&passed);
  started_guardian = pid;
  static const int numbers[] = {SIGTERM, SIGINT};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    (void)sigaction(numbers[i], &action, NULL);
    sigaddset(&passed, numbers[i]);
  }
  (void)sigprocmask(SIG_UNBLOCK, &passed, NULL);
}

static void go_to_background(void) {
  int started[2];
  if (pipe2(started, O_CLOEXEC) != 0) {
    complain(ERROR, "cannot go to the background", "pipe2", errno);
    exit(EXIT_FAILURE);
  }
  const pid_t pid = fork();
  if (pid < 0) {
    complain(ERROR, "cannot go to the background", "fork", errno);
    exit(EXIT_FAILURE);
  }
  if (pid > 0) {
    unsigned char status = EXIT_FAILURE;
    ssize_t length;
    (void)close(started[1]);
    pass_on_while_waiting(pid);
    do {
      length = read(started[0], &status, 1);
    } while (length < 0 && errno == EINTR);
    _exit(length == 1 ? status : EXIT_FAILURE);
  }
  (void)close(started[0]);
  started_fd = started[1];
  (void)setsid();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return complain(WARN, "keeps its standard input", "open", errno);
  (void)dup2(null, STDIN_FILENO);
  (void)close(null);
}

/*
 * Another user than root has capabilities by this program's file alone (setcap …+p): they are in the permitted set, and
 * would end with exec. Used here, and passed on to the engine as ambient ones, which leave its environment trusted: a Node
 * that has them by its own file ignores NODE_OPTIONS. What cannot be had is the engine's to name.
 */
static void use_file_capabilities(void) {
  if (geteuid() == 0) return;
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) != 0) return complain(WARN, "cannot read its capabilities", "capget", errno);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    sets[i].effective = sets[i].inheritable = sets[i].permitted;
  if (syscall(SYS_capset, &header, sets) != 0) return complain(WARN, "cannot use its capabilities", "capset", errno);
  for (unsigned long number = 0; number < 64; number++) {
    if ((sets[number / 32].permitted & (1u << number % 32)) == 0) continue;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0) != 0)
      return complain(WARN, "cannot pass its capabilities on to the engine", "prctl", errno);
  }
  /* By its file the kernel made this process opaque; the engine looks at its descriptors to tell whose raw sockets they are. */
  (void)prctl(PR_SET_DUMPABLE, 1);
}

/* The environment names only what is there: an engine without it is guarded against its death alone. */
static void share_words(void) {
  (void)unsetenv(WORDS_VARIABLE);
  words_fd = (int)syscall(SYS_memfd_create, "holdfast-words", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (words_fd < 0) return complain(WARN, "no deadlines for the engine, going on without", "memfd_create", errno);
  void *memory = MAP_FAILED;
  const char *failed = "ftruncate";
  if (ftruncate(words_fd, (off_t)sizeof *words) == 0) {
    failed = "fcntl";
    if (fcntl(words_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
      failed = "mmap";
      memory = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED, words_fd, 0);
    }
  }
  if (memory == MAP_FAILED) {
    complain(WARN, "no deadlines for the engine, going on without", failed, errno);
    (void)close(words_fd);
    words_fd = -1;
    return;
  }
  words = memory;
  words->magic = WORDS_MAGIC;
  words->units = WORDS_UNITS;
  beat(now_ns());
}

static bool inherit(int fd, const char *variable) {
  char number[16];
  const int flags = fcntl(fd, F_GETFD);
  if (flags < 0 || fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) != 0) return false;
  (void)snprintf(number, sizeof number, "%d", fd);
  return setenv(variable, number, 1) == 0;
}

/* The plain syscall, because musl's function refuses. Reset on fork: threads and children stay SCHED_OTHER. */
static void prefer(int priority, const char *complaint) {
  const struct sched_param parameter = {.sched_priority = priority};
  if (syscall(SYS_sched_setscheduler, 0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) != 0)
    complain(WARN, complaint, "sched_setscheduler", errno);
}

/* In the child, up to exec. Only returns when that failed. */
static void become_engine(const struct options *options, const sigset_t *mask, int channel, int *failed) {
  *failed = 0;
  if (!inherit(channel, CHANNEL_VARIABLE)) return;
  if (words_fd >= 0 && !inherit(words_fd, WORDS_VARIABLE)) return;
  if (!options->core) {
    /*
     * PR_SET_DUMPABLE would not survive exec. A limit of one byte does: the kernel then writes no file and starts no
     * core_pattern pipe either, which a limit of zero would not stop.
     */
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
      limit.rlim_cur = limit.rlim_max < 1 ? limit.rlim_max : 1;
      if (setrlimit(RLIMIT_CORE, &limit) != 0) complain(WARN, "cannot limit core dumps", "setrlimit", errno);
    }
  }
  if (options->realtime > 0) prefer(options->realtime, "no real-time priority for the engine, going on without");
  (void)signal(SIGPIPE, SIG_DFL);
  if (sigprocmask(SIG_SETMASK, mask, NULL) != 0) return;
  *failed = 1;
  (void)execvp(options->program[0], options->program);
}

static void not_started(const struct options *options, const char *syscall_name, int number) {
  struct line line;
  begin_line(&line, ERROR, "cannot start the engine");
  add_text(&line, "program", options->program[0]);
  add_text(&line, "syscall", syscall_name);
  add_text(&line, "code", errno_name(number));
  end_line(&line);
}

/* False when it did not start; that has been told then. */
static bool start_engine(const struct options *options, const sigset_t *mask, struct engine *engine) {
  int channel[2], report[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) != 0) {
    not_started(options, "socketpair", errno);
    return false;
  }
  option(channel[0], SOL_SOCKET, SO_PASSCRED, 1);
  option(channel[1], SOL_SOCKET, SO_SNDBUF, CHANNEL_BUFFER);
  option(channel[1], SOL_SOCKET, SO_SNDBUFFORCE, CHANNEL_BUFFER);
  if (pipe2(report, O_CLOEXEC) != 0) {
    not_started(options, "pipe2", errno);
    return false;
  }
  const pid_t pid = fork();
  if (pid < 0) {
    not_started(options, "fork", errno);
    return false;
  }
  if (pid == 0) {
    int executing = 0;
    become_engine(options, mask, channel[1], &executing);
    const int failure[2] = {errno, executing};
    ssize_t written;
    do {
      written = write(report[1], failure, sizeof failure);
    } while (written < 0 && errno == EINTR);
    _exit(EXIT_NOT_STARTED);
  }
  (void)close(channel[1]);
  (void)close(report[1]);
  /* The pipe closes at exec: then there is nothing to read. */
  int failure[2] = {0, 0};
  ssize_t length;
  do {
    length = read(report[0], failure, sizeof failure);
  } while (length < 0 && errno == EINTR);
  (void)close(report[0]);
  if (length == (ssize_t)sizeof failure) {
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    not_started(options, failure[1] != 0 ? "execve" : "setup", failure[0]);
    return false;
  }
  engine->pid = pid;
  engine->channel = channel[0];
  engine->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (engine->pidfd >= 0) (void)fcntl(engine->pidfd, F_SETFD, FD_CLOEXEC);
  return true;
}

/* Every child, because PID 1 inherits orphans. The will comes before the engine is buried: reaping is no hurry. */
static void reap(struct engine *engine) {
  for (;;) {
    siginfo_t child;
    memset(&child, 0, sizeof child);
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (child.si_pid == 0) return;
    int status = 0;
    if (child.si_pid == engine->pid) engine_gone(engine);
    if (waitpid(child.si_pid, &status, WNOHANG) == child.si_pid && child.si_pid == engine->pid) {
      engine->pid = 0;
      engine->status = status;
    }
  }
}

/* Whether the engine has said what SIGHUP means: before that it would end it. Its other listeners come first (run.ts). */
static bool listens(struct engine *engine) {
  if (engine->listens) return true;
  char path[32], line[128];
  (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)engine->pid);
  FILE *const status = fopen(path, "re");
  if (status == NULL) return true; /* no /proc: then as every parent does */
  while (!engine->listens && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "SigCgt:", 7) == 0)
      engine->listens = (strtoull(line + 7, NULL, 16) & (UINT64_C(1) << (SIGHUP - 1))) != 0;
  (void)fclose(status);
  return engine->listens;
}

static void forward(const struct engine *engine, int number) {
  if (engine->pid > 0 && kill(engine->pid, number) != 0 && errno != ESRCH)
    complain(WARN, "cannot forward a signal", "kill", errno);
}

/* An order to leave is obeyed at once, by any engine: before it listens it has nothing to leave behind. */
static void pass_on(struct engine *engine, int number) {
  if (engine->pid <= 0) return;
  if (number == SIGTERM || number == SIGINT || listens(engine)) return forward(engine, number);
  engine->held |= UINT64_C(1) << number;
  if (engine->hold_until == 0) engine->hold_until = now_ns() + HOLD_MS * UINT64_C(1000000);
}

static void let_go(struct engine *engine) {
  if (engine->held == 0 || engine->pid <= 0 || (!listens(engine) && now_ns() < engine->hold_until)) return;
  for (int number = 1; number < 64; number++)
    if ((engine->held & (UINT64_C(1) << number)) != 0) forward(engine, number);
  engine->held = 0;
  engine->hold_until = 0;
}

static void take_signals(int fd, struct engine *engine) {
  struct signalfd_siginfo info;
  for (;;) {
    const ssize_t length = read(fd, &info, sizeof info);
    if (length < 0 && errno == EINTR) continue;
    if (length != (ssize_t)sizeof info) return;
    if (info.ssi_signo == SIGCHLD) {
      reap(engine);
    } else if (info.ssi_signo == SIGINT && info.ssi_code == SI_KERNEL) {
      /* The terminal's Ctrl-C goes to the whole foreground group: the engine has it already. */
    } else if ((int)info.ssi_signo >= SIGRTMIN) {
      /* Tools send some of them to other daemons, to whom they mean something; nobody dies of a question. */
      complain(WARN, "ignored a real-time signal", NULL, 0);
    } else {
      pass_on(engine, (int)info.ssi_signo);
    }
  }
}

/* sigabbrev_np() is glibc 2.32's; these are the signals that end an engine. */
static const char *sigabbrev(int number) {
  static const struct {
    int number;
    const char *name;
  } known[] = {{SIGKILL, "KILL"}, {SIGSEGV, "SEGV"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},   {SIGILL, "ILL"},
               {SIGFPE, "FPE"},   {SIGTERM, "TERM"}, {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGSYS, "SYS"},
               {SIGTRAP, "TRAP"}, {SIGHUP, "HUP"},   {SIGPIPE, "PIPE"}, {SIGXCPU, "XCPU"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].number == number) return known[i].name;
  return NULL;
}

/* An exit status is the engine's own word, and it has said why; a signal is not. */
static int exit_status(const struct engine *engine) {
  if (WIFEXITED(engine->status)) return WEXITSTATUS(engine->status);
  const int number = WTERMSIG(engine->status);
  struct line line;
  char text[64];
  const char *name = sigabbrev(number);
  if (name == NULL)
    (void)snprintf(text, sizeof text, "engine killed by signal %d", number);
  else
    (void)snprintf(text, sizeof text, "engine killed by signal %d (SIG%s)", number, name);
  begin_line(&line, ERROR, text);
  add(&line, ",\"signal\":%d,\"core\":%s", number, WCOREDUMP(engine->status) ? "true" : "false");
  end_line(&line);
  return 128 + number;
}

/* A descriptor that we open must not be taken for one of these: the log would go into the channel. */
static bool fill_standard_descriptors(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) return false;
  return true;
}

int main(int count, char **arguments) {
  if (!fill_standard_descriptors()) return EXIT_FAILURE;
  static const int forwarded[] = {SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGCHLD};
  sigset_t set, mask;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) sigaddset(&set, forwarded[i]);
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++) sigaddset(&set, number);
  /* First of all: a signal that comes before the engine runs waits for it. */
  if (sigprocmask(SIG_BLOCK, &set, &mask) != 0) {
    complain(ERROR, "cannot block signals", "sigprocmask", errno);
    return EXIT_FAILURE;
  }
  const struct options options = read_options(count, arguments);
  use_file_capabilities();
  if (options.background) go_to_background();
  open_lines();
  find_manager();
  if (options.name != NULL) be_called(options.name, arguments[0]);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would swallow the exit status */
  const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) {
    complain(ERROR, "cannot start the engine", "signalfd", errno);
    return EXIT_FAILURE;
  }
  open_sockets();
  share_words();
  if (manager.patience != 0 && words == NULL)
    complain(WARN, "nobody sees whether the engine turns: the service manager's watchdog hears nothing", NULL, 0);
  struct engine engine = {.pid = 0, .pidfd = -1, .channel = -1};
  if (!start_engine(&options, &mask, &engine)) {
    tell_start(EXIT_NOT_STARTED);
    return EXIT_NOT_STARTED;
  }
  /*
   * Above the engine, which must not be able to keep its guardian from it, and not below anybody who keeps the engine
   * waiting: between the removal of addresses and priority 0 there must be no pause, and a guardian that seems silent
   * makes the engine leave.
   */
  if (options.realtime > 0)
    prefer(options.realtime < REALTIME_MAX ? options.realtime + 1 : REALTIME_MAX,
           "no real-time priority for the guardian, going on without");

  enum { PROCESS, CHANNEL, SIGNALS, SLOTS };
  while (engine.pid != 0) {
    struct pollfd watched[SLOTS];
    memset(watched, 0, sizeof watched);
    watched[PROCESS].fd = engine.gone ? -1 : engine.pidfd;
    watched[CHANNEL].fd = engine.channel;
    watched[SIGNALS].fd = signals;
    for (int i = 0; i < SLOTS; i++) watched[i].events = POLLIN;
    struct timespec wait = {0, 0};
    const bool timed = words != NULL && !engine.gone;
    if (timed) wait = next_look(now_ns());
    const struct timespec look = {.tv_sec = 0, .tv_nsec = HOLD_LOOK_MS * 1000000L};
    const bool unready = manager.fd >= 0 && !manager.ready;
    const bool looks = engine.held != 0 || started_fd >= 0 || unready;
    if (looks && (!timed || wait.tv_sec > 0 || wait.tv_nsec > look.tv_nsec)) wait = look;
    if (ppoll(watched, SLOTS, timed || looks ? &wait : NULL, NULL) < 0) {
      if (errno == EINTR || errno == EAGAIN || errno == ENOMEM) continue;
      complain(ERROR, "cannot wait for the engine", "poll", errno);
      return EXIT_FAILURE;
    }
    if (watched[PROCESS].revents != 0) engine_gone(&engine);
    if (watched[CHANNEL].revents != 0 && engine.channel >= 0 &&
        read_channel(engine.channel, MESSAGES_PER_TURN) == READ_CLOSED)
      engine_gone(&engine);
    if (watched[SIGNALS].revents != 0) take_signals(signals, &engine);
    let_go(&engine);
    if ((started_fd >= 0 || unready) && engine.pid > 0 && listens(&engine)) {
      tell_start(EXIT_SUCCESS);
      if (unready) tell_ready();
    }
    if (timed && !engine.gone) {
      keep_deadlines(&engine);
      const uint64_t now = now_ns();
      if (!engine.gone) renew_all(now);
      beat(now);
      feed_watchdog(&engine, now);
      call_after_sleep(&engine);
    }
  }
  const int status = exit_status(&engine);
  tell_start(status);
  return status;
}
