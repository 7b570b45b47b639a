/* SPDX-License-Identifier: Apache-2.0 */
/* Sends messages of a NativeSocket, one result for each. See socket.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "handle.h"
#include "socket.h"

#define MAX_MESSAGES (1u << 16)
#define FEW_MESSAGES 4u /* an advertisement or an ARP request: no memory is allocated for up to this number */

struct outgoing {
  struct mmsghdr *messages;
  struct iovec *vectors;
  struct sockaddr_storage *names; /* NULL: the messages have no addresses */
  napi_value *values; /* messages, then addresses: read before any pointer is taken, as a getter may run code */
  int32_t *results;
};

struct few {
  struct mmsghdr messages[FEW_MESSAGES];
  struct iovec vectors[FEW_MESSAGES];
  struct sockaddr_storage names[FEW_MESSAGES];
  napi_value values[2 * FEW_MESSAGES];
  int32_t results[FEW_MESSAGES];
};

static bool reserve(struct outgoing *out, struct few *few, size_t count, bool addressed) {
  if (count <= FEW_MESSAGES) {
    memset(few->messages, 0, count * sizeof *few->messages);
    memset(few->names, 0, count * sizeof *few->names);
    *out = (struct outgoing){few->messages, few->vectors, addressed ? few->names : NULL, few->values, few->results};
    return true;
  }
  out->messages = calloc(count, sizeof *out->messages);
  out->vectors = calloc(count, sizeof *out->vectors);
  out->names = addressed ? calloc(count, sizeof *out->names) : NULL;
  out->values = calloc(2 * count, sizeof(napi_value));
  out->results = calloc(count, sizeof *out->results);
  return out->messages != NULL && out->vectors != NULL && (out->names != NULL || !addressed) && out->values != NULL &&
         out->results != NULL;
}

static void discard(struct outgoing *out, const struct few *few) {
  if (out->messages == few->messages) return;
  free(out->messages);
  free(out->vectors);
  free(out->names);
  free(out->values);
  free(out->results);
}

static bool fill_messages(napi_env env, struct outgoing *out, uint32_t count, napi_value messages,
                          napi_value addresses) {
  const bool addressed = out->names != NULL;
  for (uint32_t i = 0; i < count; i++) {
    if (!ok(env, napi_get_element(env, messages, i, &out->values[i]))) return false;
    if (addressed && !ok(env, napi_get_element(env, addresses, i, &out->values[count + i]))) return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    unsigned char *bytes = NULL;
    size_t length = 0;
    if (!read_bytes(env, out->values[i], &bytes, &length)) return false;
    struct msghdr *header = &out->messages[i].msg_hdr;
    out->vectors[i].iov_base = bytes;
    out->vectors[i].iov_len = length;
    header->msg_iov = &out->vectors[i];
    header->msg_iovlen = 1;
    if (!addressed) continue;
    if (!read_bytes(env, out->values[count + i], &bytes, &length)) return false;
    if (length > sizeof out->names[i]) {
      throw_type(env, "socket address is too long");
      return false;
    }
    if (length > 0) memcpy(&out->names[i], bytes, length);
    header->msg_name = length > 0 ? &out->names[i] : NULL;
    header->msg_namelen = (socklen_t)length;
  }
  return true;
}

/*
 * Writes one result per message. sendmmsg() stops at the first message that fails. The errno of this message is stored,
 * and the other messages are sent.
 */
static void transmit(int fd, struct mmsghdr *messages, uint32_t count, int32_t *results) {
  uint32_t done = 0;
  while (done < count) {
    const uint32_t left = count - done;
    const int sent = sendmmsg(fd, messages + done, left > MAX_BATCH ? MAX_BATCH : left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) {
      results[done++] = sent < 0 ? -errno : -EIO;
      continue;
    }
    for (int i = 0; i < sent; i++, done++) results[done] = (int32_t)messages[done].msg_len;
  }
}

/*
 * Returns undefined if all were sent whole, which is the usual case and needs no array. If a message was not sent
 * whole, returns one result per message.
 */
static napi_value to_results(napi_env env, const struct outgoing *out, uint32_t count) {
  bool whole = true;
  for (uint32_t i = 0; i < count && whole; i++)
    whole = out->results[i] >= 0 && (size_t)out->results[i] == out->vectors[i].iov_len;
  if (whole) return NULL;
  napi_value buffer, result;
  void *results = NULL;
  if (!ok(env, napi_create_arraybuffer(env, count * sizeof(int32_t), &results, &buffer)) ||
      !ok(env, napi_create_typedarray(env, napi_int32_array, count, buffer, 0, &result)))
    return NULL;
  memcpy(results, out->results, count * sizeof(int32_t));
  return result;
}

struct send_arguments {
  struct handle *handle;
  napi_value messages, addresses;
  uint32_t count;
  bool addressed;
};

static bool read_send_arguments(napi_env env, napi_callback_info info, struct send_arguments *read) {
  napi_value values[2] = {NULL, NULL}, self;
  size_t given = 2;
  napi_valuetype type = napi_undefined;
  bool list = false;
  uint32_t addresses = 0;
  if (!ok(env, napi_get_cb_info(env, info, &given, values, &self, NULL))) return false;
  read->handle = unwrap_handle(env, self);
  if (read->handle == NULL) return false;
  if (given < 1 || napi_is_array(env, values[0], &list) != napi_ok || !list) {
    throw_type(env, "expected an array of messages");
    return false;
  }
  if (!ok(env, napi_get_array_length(env, values[0], &read->count))) return false;
  if (given > 1 && !ok(env, napi_typeof(env, values[1], &type))) return false;
  read->addressed = type != napi_undefined;
  if (read->addressed && (napi_is_array(env, values[1], &list) != napi_ok || !list ||
                          napi_get_array_length(env, values[1], &addresses) != napi_ok || addresses != read->count)) {
    throw_type(env, "expected one socket address per message, or none at all");
    return false;
  }
  if (read->count > MAX_MESSAGES) {
    throw_range(env, "too many messages in one call");
    return false;
  }
  read->messages = values[0];
  read->addresses = values[1];
  return true;
}

/* send(messages, addresses?) */
napi_value socket_send(napi_env env, napi_callback_info info) {
  struct send_arguments given;
  napi_value result = NULL;
  if (!read_send_arguments(env, info, &given) || given.count == 0) return NULL;
  struct outgoing out = {NULL, NULL, NULL, NULL, NULL};
  struct few few;
  if (!reserve(&out, &few, given.count, given.addressed)) {
    throw_errno(env, "sendmmsg", ENOMEM);
  } else if (fill_messages(env, &out, given.count, given.messages, given.addresses)) {
    transmit(given.handle->fd, out.messages, given.count, out.results);
    result = to_results(env, &out, given.count);
  }
  discard(&out, &few);
  return result;
}
