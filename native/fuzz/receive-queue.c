/* SPDX-License-Identifier: Apache-2.0 */
/* See receive.h. */
#define _GNU_SOURCE
#include "receive.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../addon/metadata.h"

struct sent queue[QUEUE], taken[BATCH];
unsigned queued, waiting;
double monotonic, realtime;
int failure;
struct handle handle;
unsigned char *meta, *bytes;

/* Replace the system calls (fuzz/build.sh). */
int fuzz_clock_gettime(clockid_t id, struct timespec *now);
int fuzz_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *limit);

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
