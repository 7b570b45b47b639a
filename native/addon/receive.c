/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a batch of packets into the arrays of a NativeSocket. See socket.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>

#include "handle.h"
#include "metadata.h"
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

/* Resets the headers that the last receive has written. */
static void prepare_headers(struct handle *h, unsigned char *data) {
  for (unsigned i = 0; i < h->used; i++) {
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

/* Returns the number of packets, or a negative errno. */
napi_value socket_receive(napi_env env, napi_callback_info info) {
  napi_value self;
  if (!read_arguments(env, info, 0, NULL, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL) return NULL;
  unsigned char *meta = own_bytes(env, h->meta, (size_t)h->batch * META_SIZE);
  unsigned char *data = meta == NULL ? NULL : own_bytes(env, h->data, (size_t)h->batch * h->size);
  if (data == NULL) return NULL;
  prepare_headers(h, data);
  int count;
  do {
    count = recvmmsg(h->fd, h->messages, h->batch, MSG_DONTWAIT, NULL);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    count = errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
    h->used = 1; /* a failed receive may have written the first header nevertheless */
  } else {
    h->used = count == 0 ? 1 : (unsigned)count;
    for (int i = 0; i < count; i++) describe_message(&h->messages[i], meta + (size_t)i * META_SIZE);
  }
  return to_int(env, count);
}
