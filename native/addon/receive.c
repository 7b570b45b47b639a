/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a batch of packets into the arrays of a NativeSocket. See socket.h and receive.h. */
#define _GNU_SOURCE
#include "receive.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "defer.h"
#include "handle.h"
#include "metadata.h"
#include "repetition.h"
#include "socket.h"

/*
 * Returns the memory of an array of the addon's, or NULL if JavaScript detached it (transferred it to another thread).
 */
static unsigned char *own_bytes(napi_env env, napi_ref reference, size_t wanted) {
  napi_value value;
  unsigned char *bytes = NULL;
  size_t length = 0;
  if (reference == NULL || !ok(env, napi_get_reference_value(env, reference, &value)) || value == NULL ||
      !read_bytes(env, value, &bytes, &length))
    return NULL;
  if (bytes == NULL || length != wanted) {
    throw_type(env, "meta or data of this socket was detached");
    return NULL;
  }
  return bytes;
}

/* Resets the headers from `from` on that the last receive has written. */
static void prepare_headers(struct handle *h, unsigned char *data, unsigned from) {
  for (unsigned i = from; i < h->used; i++) {
    struct msghdr *header = &h->messages[i].msg_hdr;
    h->vectors[i].iov_base = data + (size_t)i * h->size;
    h->vectors[i].iov_len = h->size;
    header->msg_name = &h->names[i];
    header->msg_namelen = sizeof h->names[i];
    header->msg_iov = &h->vectors[i];
    header->msg_iovlen = 1;
    header->msg_control = h->control + (size_t)i * CONTROL_SIZE;
    header->msg_controllen = CONTROL_SIZE;
    header->msg_flags = 0;
  }
}

struct memory {
  unsigned char *meta;
  unsigned char *data;
};

static bool read_memory(const struct handle *h, struct memory *memory) {
  memory->meta = own_bytes(h->env, h->meta, (size_t)h->batch * META_SIZE);
  memory->data = memory->meta == NULL ? NULL : own_bytes(h->env, h->data, (size_t)h->batch * h->size);
  return memory->data != NULL;
}

/* Reads packets behind the first `from`, which are not read by JavaScript yet. Returns their number, or -errno. */
static int read_packets(struct handle *h, struct memory memory, unsigned from) {
  const struct clocks before = read_both_clocks();
  prepare_headers(h, memory.data, from);
  int count;
  do {
    count = recvmmsg(h->fd, h->messages + from, h->batch - from, MSG_DONTWAIT, NULL);
  } while (count < 0 && errno == EINTR);
  const int failed = count < 0 && errno != EAGAIN && errno != EWOULDBLOCK ? -errno : 0;
  if (count < 0) count = 0;
  /* A failed receive may have written the next header nevertheless. */
  h->used = from + (unsigned)count < h->batch ? from + (unsigned)count + 1 : h->batch;
  for (unsigned i = from; i < from + (unsigned)count; i++)
    describe_message(&h->messages[i], memory.meta + (size_t)i * META_SIZE);
  const unsigned to = from + (unsigned)count;
  take_repeated(h, memory.meta, memory.data, from, to, before, failed == 0 && to < h->batch);
  return failed != 0 ? failed : count;
}

/* Tells whether one of the packets is not a repetition. */
static bool has_other(const unsigned char *meta, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    uint32_t flags;
    memcpy(&flags, meta + (size_t)i * META_SIZE + META_FLAGS, sizeof flags);
    if (flags != FLAG_REPEATED) return true;
  }
  return false;
}

bool receive_ahead(struct handle *h) {
  struct memory memory;
  if (!read_memory(h, &memory)) return true;
  const int count = read_packets(h, memory, 0);
  if (count < 0) h->held_error = count;
  if (count > 0 && has_other(memory.meta, (unsigned)count)) h->held = (unsigned)count;
  return h->held != 0 || h->held_error != 0;
}

/* Returns the number of packets, or a negative errno. */
napi_value socket_receive(napi_env env, napi_callback_info info) {
  napi_value self;
  struct memory memory;
  if (!read_arguments(env, info, 0, NULL, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL || !read_memory(h, &memory)) return NULL;
  const unsigned held = h->held;
  const int failed = h->held_error;
  h->held = 0;
  h->held_error = 0;
  if (failed != 0) return to_int(env, failed);
  if (held == h->batch) return to_int(env, (int)held);
  const int count = read_packets(h, memory, held);
  /* An error stays for the next call if packets come first. */
  if (count < 0 && held != 0) h->held_error = count;
  /* While JavaScript handles a packet of this batch, no other reader may write to its memory. */
  if (h->deferred && has_other(memory.meta, held + (unsigned)(count < 0 ? 0 : count))) end_deferral(h);
  return to_int(env, held == 0 ? count : (int)held + (count < 0 ? 0 : count));
}
