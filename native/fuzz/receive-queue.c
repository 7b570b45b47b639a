/* SPDX-License-Identifier: Apache-2.0 */
/* See receive.h. */
#define _GNU_SOURCE
#include "receive.h"

#include <errno.h>
#include <linux/filter.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#include "../addon/metadata.h"
#include "../addon/watch.h"

struct sent queue[QUEUE], taken[BATCH];
unsigned queued, waiting;
double monotonic, realtime;
int failure;
struct handle handle, timer, news_socket;
void (*before_batch)(void);
unsigned news_queued;
bool polled, reported;
unsigned char *meta, *bytes;

/* Replace the system calls (fuzz/build.sh). */
int fuzz_clock_gettime(clockid_t id, struct timespec *now);
int fuzz_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *limit);
int fuzz_timerfd_settime(int fd, int flags, const struct itimerspec *moment, struct itimerspec *before);
int fuzz_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int fuzz_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
ssize_t fuzz_recv(int fd, void *bytes, size_t size, int flags);

/* ---- replaced calls ---- */

int fuzz_clock_gettime(clockid_t id, struct timespec *now) {
  const double ms = id == CLOCK_MONOTONIC ? monotonic : realtime;
  *now = (struct timespec){(time_t)(ms / 1e3), (long)(fmod(ms, 1e3) * 1e6)};
  return 0;
}

static void put_control(struct msghdr *header, size_t *used, int level, int type, const void *value, size_t size) {
  struct cmsghdr *const at = (struct cmsghdr *)((unsigned char *)header->msg_control + *used);
  *at = (struct cmsghdr){.cmsg_len = CMSG_LEN(size), .cmsg_level = level, .cmsg_type = type};
  memcpy(CMSG_DATA(at), value, size);
  *used += CMSG_SPACE(size);
  require(*used <= header->msg_controllen);
}

static void write_source(const struct sent *packet, struct msghdr *header) {
  require(header->msg_namelen >= sizeof(struct sockaddr_in6));
  struct sockaddr_in to4 = {.sin_family = AF_INET};
  struct sockaddr_in6 to6 = {.sin6_family = AF_INET6};
  to4.sin_addr.s_addr = packet->from;
  to6.sin6_addr.s6_addr[15] = packet->from;
  const bool v4 = packet->bytes[SIZE] == 4;
  header->msg_namelen = v4 ? sizeof to4 : sizeof to6;
  memcpy(header->msg_name, v4 ? (void *)&to4 : (void *)&to6, header->msg_namelen);
}

static void deliver(const struct sent *packet, struct mmsghdr *message) {
  struct msghdr *const header = &message->msg_hdr;
  const bool v4 = packet->bytes[SIZE] == 4;
  size_t used = 0;
  require(header->msg_iov->iov_len == SIZE && header->msg_flags == 0);
  memcpy(header->msg_iov->iov_base, packet->bytes, packet->length < SIZE ? packet->length : SIZE);
  message->msg_len = (unsigned)(packet->length < SIZE ? packet->length : SIZE);
  if (packet->length > SIZE) header->msg_flags = MSG_TRUNC;
  write_source(packet, header);
  memset(header->msg_control, 0, header->msg_controllen);
  put_control(header, &used, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, &packet->ttl, sizeof(int));
  if (packet->at != 0) {
    const struct timespec stamp = {(time_t)(packet->at / 1e3), (long)(fmod(packet->at, 1e3) * 1e6)};
    put_control(header, &used, SOL_SOCKET, SO_TIMESTAMPNS, &stamp, sizeof stamp);
  }
  struct in_pktinfo info4 = {.ipi_ifindex = 1};
  struct in6_pktinfo info6 = {.ipi6_ifindex = 1};
  info4.ipi_addr.s_addr = packet->to;
  info6.ipi6_addr.s6_addr[0] = packet->to;
  if (v4)
    put_control(header, &used, IPPROTO_IP, IP_PKTINFO, &info4, sizeof info4);
  else
    put_control(header, &used, IPPROTO_IPV6, IPV6_PKTINFO, &info6, sizeof info6);
  if (packet->drops != 0) put_control(header, &used, SOL_SOCKET, SO_RXQ_OVFL, &packet->drops, sizeof packet->drops);
  header->msg_controllen = used;
}

int fuzz_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *limit) {
  (void)fd, (void)limit;
  if (messages == handle.messages && waiting != 0 && failure == 0 && queued != 0) before_batch();
  require(flags == MSG_DONTWAIT && waiting + count <= BATCH);
  if (failure != 0 || queued == 0) {
    errno = failure != 0 ? failure : EAGAIN;
    failure = 0;
    return -1;
  }
  if (count > queued) count = queued;
  for (unsigned i = 0; i < count; i++) {
    deliver(&queue[i], &messages[i]);
    taken[waiting++] = queue[i];
  }
  queued -= count;
  memmove(queue, queue + count, queued * sizeof *queue);
  return (int)count;
}

int fuzz_timerfd_settime(int fd, int flags, const struct itimerspec *moment, struct itimerspec *before) {
  (void)moment, (void)before;
  require(fd == timer.fd && flags == TFD_TIMER_ABSTIME);
  return 0;
}

int fuzz_getsockopt(int fd, int level, int name, void *value, socklen_t *size) {
  require(fd == handle.fd && level == SOL_SOCKET && name == SO_RCVBUF && *size == sizeof(int));
  *(int *)value = 1 << 20;
  return 0;
}

/* ---- packets ---- */

bool is_like(const struct sent *one, const struct sent *other) {
  if (one->length != other->length || one->length > SIZE || one->ttl != other->ttl) return false;
  if (one->from != other->from || one->to != other->to) return false;
  for (size_t i = 0; i < one->length; i++) {
    unsigned char compared = 0xff;
    if (one->bytes[SIZE] == 4) {
      if (i == 1 || i == 4 || i == 5 || i == 10 || i == 11) compared = 0;
      if (i == 6) compared = 0xbf;
    }
    if (((one->bytes[i] ^ other->bytes[i]) & compared) != 0) return false;
  }
  return one->bytes[SIZE] != 4 || (one->bytes[0] == 0x45 && (one->bytes[6] & 0xbf) == 0 && one->bytes[7] == 0);
}

int vrid_of(const struct sent *packet) {
  const size_t length = packet->length < SIZE ? packet->length : SIZE;
  if (length == 0) return -1;
  const size_t at = (packet->bytes[SIZE] == 4 ? (packet->bytes[0] & 15u) * 4u : 0) + 1;
  return at < length ? packet->bytes[at] : -1;
}

void write_header(struct sent *packet) {
  if (packet->bytes[SIZE] != 4) return;
  packet->bytes[8] = (unsigned char)packet->ttl;
  packet->bytes[9] = 112;
  packet->bytes[12] = packet->from;
  packet->bytes[16] = packet->to;
}

void change_packet(struct sent *packet, const uint8_t *change) {
  const unsigned place = change[1];
  if (change[2] == 0) return; /* unchanged */
  if (place < packet->length) packet->bytes[place] ^= change[2];
  if (place == 200) packet->ttl = change[2];
  if (place == 201) packet->from = change[2];
  if (place == 202) packet->to = change[2];
  if (place == 203) packet->drops = change[2];
  if (place == 204) packet->length = change[2] % (SIZE + 8);
  if (place == 205) packet->at = 0;
  if (place == 206) packet->at -= change[2];
  if (place == 207) packet->at += change[2];
  if (place < 200 && packet->bytes[SIZE] == 4) {
    packet->ttl = packet->bytes[8];
    packet->from = packet->bytes[12];
    packet->to = packet->bytes[16];
  }
  write_header(packet);
}

/* ---- the news socket ---- */

static struct sock_filter filter[BPF_MAXINSNS];
static unsigned filter_length;

int fuzz_setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
  const struct sock_fprog *const program = value;
  require(fd == news_socket.fd && level == SOL_SOCKET && name == SO_ATTACH_FILTER && size == sizeof *program);
  require(program->len > 0 && program->len <= BPF_MAXINSNS);
  memcpy(filter, program->filter, program->len * sizeof *filter);
  filter_length = program->len;
  return 0;
}

ssize_t fuzz_recv(int fd, void *to, size_t size, int flags) {
  (void)to;
  require(fd == news_socket.fd && size == 1 && flags == MSG_DONTWAIT);
  if (news_queued == 0) errno = EAGAIN;
  return news_queued == 0 ? -1 : (news_queued--, 1);
}

/* Loads as the kernel does. Returns false beyond the end of the packet. */
static bool load(const struct sent *packet, uint32_t place, unsigned size, uint32_t *value) {
  unsigned char header[40] = {[6] = 112, [7] = (unsigned char)packet->ttl, [8 + 15] = packet->from, [24] = packet->to};
  const bool network = place >= (uint32_t)SKF_NET_OFF;
  const unsigned char *const from = network ? header : packet->bytes;
  if (network) place -= (uint32_t)SKF_NET_OFF;
  require(!network || place + size <= sizeof header);
  if (!network && place + size > packet->length) return false;
  *value = 0;
  for (unsigned i = 0; i < size; i++) *value = *value << 8 | from[place + i];
  return true;
}

/* Returns whether the filter accepts the packet. */
static bool run_filter(const struct sent *packet) {
  uint32_t a = 0;
  for (unsigned i = 0; i < filter_length; i++) {
    const struct sock_filter at = filter[i];
    bool holds = false;
    switch (at.code) {
      case BPF_LD | BPF_W | BPF_LEN: a = (uint32_t)packet->length; continue;
      case BPF_LD | BPF_W | BPF_ABS: if (!load(packet, at.k, 4, &a)) return false; continue;
      case BPF_LD | BPF_H | BPF_ABS: if (!load(packet, at.k, 2, &a)) return false; continue;
      case BPF_LD | BPF_B | BPF_ABS: if (!load(packet, at.k, 1, &a)) return false; continue;
      case BPF_RET | BPF_K: return at.k != 0;
      case BPF_JMP | BPF_JEQ | BPF_K: holds = a == at.k; break;
      case BPF_JMP | BPF_JGE | BPF_K: holds = a >= at.k; break;
      case BPF_JMP | BPF_JSET | BPF_K: holds = (a & at.k) != 0; break;
      default: abort();
    }
    i += holds ? at.jt : at.jf;
  }
  abort(); /* the kernel refuses a program without a result */
}

void filter_news(const struct sent *packet) {
  if (run_filter(packet)) news_queued++;
}

/* ---- what the event loop would do ---- */

void rest_poll(struct handle *h) {
  require(h == &handle && polled);
  polled = false;
}
void wake_poll(struct handle *h) {
  require(h == &handle);
  polled = true;
}
void report_soon(struct handle *h) {
  require(h == &handle);
  reported = true;
}

/* ---- what Node would do ---- */

napi_status napi_get_reference_value(napi_env env, napi_ref reference, napi_value *result) {
  (void)env;
  *result = (napi_value)(void *)reference;
  return napi_ok;
}
napi_status napi_open_handle_scope(napi_env env, napi_handle_scope *scope) {
  (void)env, (void)scope;
  return napi_ok;
}
napi_status napi_close_handle_scope(napi_env env, napi_handle_scope scope) {
  (void)env, (void)scope;
  return napi_ok;
}
bool ok(napi_env env, napi_status status) {
  (void)env;
  return status == napi_ok;
}
void throw_type(napi_env env, const char *message) {
  (void)env, (void)message;
  abort();
}
bool read_bytes(napi_env env, napi_value value, unsigned char **result, size_t *length) {
  (void)env;
  *result = (unsigned char *)(void *)value;
  *length = *result == meta ? BATCH * META_SIZE : BATCH * SIZE;
  return true;
}
bool read_arguments(napi_env env, napi_callback_info info, size_t wanted, napi_value *values, napi_value *self) {
  (void)env, (void)info, (void)wanted, (void)values, (void)self;
  return true;
}
struct handle *unwrap_handle(napi_env env, napi_value self) {
  (void)env, (void)self;
  return &handle;
}
napi_value to_int(napi_env env, int32_t number) {
  (void)env;
  return (napi_value)(intptr_t)(number + 1000);
}
