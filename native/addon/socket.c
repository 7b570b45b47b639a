/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a socket, sets its options, binds, connects and filters it. See socket.h. */
#define _GNU_SOURCE
#include "socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "handle.h"
#include "metadata.h"

#define MAX_PACKET (1u << 20)
#define MAX_DATA (256u << 20)
#define MAX_OPTION 4096u

/* Attaches a Uint8Array that `reference` keeps alive, visible as a read-only property. */
static bool attach_array(napi_env env, napi_value self, const char *name, size_t length, napi_ref *reference) {
  napi_value buffer, array;
  void *data = NULL;
  if (!ok(env, napi_create_arraybuffer(env, length, &data, &buffer)) ||
      !ok(env, napi_create_typedarray(env, napi_uint8_array, length, buffer, 0, &array)) ||
      !ok(env, napi_create_reference(env, array, 1, reference)))
    return false;
  const napi_property_descriptor property = {name, NULL, NULL, NULL, NULL, array, napi_enumerable, NULL};
  return ok(env, napi_define_properties(env, self, 1, &property));
}

/* new NativeSocket(family, type, protocol, batch, size) */
napi_value construct_socket(napi_env env, napi_callback_info info) {
  napi_value values[5], self;
  int number[5] = {0};
  if (!called_with_new(env, info)) return NULL;
  if (!read_arguments(env, info, 5, values, &self)) return NULL;
  for (int i = 0; i < 5; i++)
    if (!read_int(env, values[i], &number[i])) return NULL;
  if (number[3] < 1 || (unsigned)number[3] > MAX_BATCH || number[4] < 1 || (unsigned)number[4] > MAX_PACKET ||
      (uint64_t)number[3] * (uint64_t)number[4] > MAX_DATA) {
    throw_range(env, "batch is 1 to 1024, size 1 to 1048576, together 256 MiB");
    return NULL;
  }
  struct handle *h = create_handle(env, "socket", (unsigned)number[3], (unsigned)number[4]);
  if (h == NULL) return NULL;
  const int fd = socket(number[0], number[1] | SOCK_CLOEXEC | SOCK_NONBLOCK, number[2]);
  if (!adopt_descriptor(env, self, h, "socket", fd, errno)) return NULL;
  if (!attach_array(env, self, "meta", (size_t)h->batch * META_SIZE, &h->meta) ||
      !attach_array(env, self, "data", (size_t)h->batch * h->size, &h->data)) {
    shut_handle(h);
    return NULL;
  }
  return self;
}

napi_value socket_set_option(napi_env env, napi_callback_info info) {
  napi_value values[3], self;
  int level = 0, name = 0;
  unsigned char *bytes = NULL;
  size_t length = 0;
  if (!read_arguments(env, info, 3, values, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL || !read_int(env, values[0], &level) || !read_int(env, values[1], &name) ||
      !read_bytes(env, values[2], &bytes, &length))
    return NULL;
  if (length > MAX_OPTION)
    throw_errno(env, "setsockopt", EINVAL);
  else if (setsockopt(h->fd, level, name, bytes, (socklen_t)length) != 0)
    throw_errno(env, "setsockopt", errno);
  return NULL;
}

/* Reads the socket address that is the only argument. Returns the socket, or NULL after it has thrown. */
static struct handle *read_sockaddr(napi_env env, napi_callback_info info, const char *syscall_name,
                                    struct sockaddr_storage *address, size_t *length) {
  napi_value value, self;
  unsigned char *bytes = NULL;
  *length = 0;
  if (!read_arguments(env, info, 1, &value, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL || !read_bytes(env, value, &bytes, length)) return NULL;
  if (*length == 0 || *length > sizeof *address) {
    throw_errno(env, syscall_name, EINVAL);
    return NULL;
  }
  memset(address, 0, sizeof *address);
  memcpy(address, bytes, *length);
  return h;
}

napi_value socket_bind(napi_env env, napi_callback_info info) {
  struct sockaddr_storage address;
  size_t length;
  struct handle *h = read_sockaddr(env, info, "bind", &address, &length);
  if (h == NULL) return NULL;
  if (bind(h->fd, (const struct sockaddr *)&address, (socklen_t)length) != 0) throw_errno(env, "bind", errno);
  return NULL;
}

/* Returns 0 or a negative errno, including -EINPROGRESS: the network's answer is a result, not an exception. */
napi_value socket_connect(napi_env env, napi_callback_info info) {
  struct sockaddr_storage address;
  size_t length;
  struct handle *h = read_sockaddr(env, info, "connect", &address, &length);
  if (h == NULL) return NULL;
  const int failed = connect(h->fd, (const struct sockaddr *)&address, (socklen_t)length);
  return to_int(env, failed == 0 ? 0 : -errno);
}

napi_value socket_attach_filter(napi_env env, napi_callback_info info) {
  napi_value values[1], self;
  unsigned char *bytes = NULL;
  size_t length = 0;
  if (!read_arguments(env, info, 1, values, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL || !read_bytes(env, values[0], &bytes, &length)) return NULL;
  if (length == 0 || length % sizeof(struct sock_filter) != 0 || length / sizeof(struct sock_filter) > BPF_MAXINSNS) {
    throw_errno(env, "setsockopt", EINVAL);
    return NULL;
  }
  struct sock_filter *instructions = malloc(length); /* a copy, because the array may start at an odd address */
  if (instructions == NULL) {
    throw_errno(env, "setsockopt", ENOMEM);
    return NULL;
  }
  memcpy(instructions, bytes, length);
  const struct sock_fprog program = {(unsigned short)(length / sizeof *instructions), instructions};
  if (setsockopt(h->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
    throw_errno(env, "setsockopt", errno);
  free(instructions);
  return NULL;
}
