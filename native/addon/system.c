/* SPDX-License-Identifier: Apache-2.0 */
/* See system.h. */
#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define LAST_DESCRIPTOR 1024u /* the usual soft limit of a shell */

/* clocks(out): writes CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_BOOTTIME in ms into a Float64Array. */
napi_value read_clocks(napi_env env, napi_callback_info info) {
  static const clockid_t ids[3] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME};
  napi_value values[1];
  double *out = NULL;
  if (!read_arguments(env, info, 1, values, NULL) || !read_doubles(env, values[0], 3, &out)) return NULL;
  for (int i = 0; i < 3; i++) {
    struct timespec now;
    if (clock_gettime(ids[i], &now) != 0) {
      throw_errno(env, "clock_gettime", errno);
      return NULL;
    }
    out[i] = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  }
  return NULL;
}

/* interfaceIndex(name): returns 0 if there is no such interface. */
napi_value find_interface(napi_env env, napi_callback_info info) {
  napi_value values[1];
  char name[IF_NAMESIZE + 8];
  size_t length = 0;
  if (!read_arguments(env, info, 1, values, NULL)) return NULL;
  if (napi_get_value_string_utf8(env, values[0], name, sizeof name, &length) != napi_ok) {
    throw_type(env, "expected a string");
    return NULL;
  }
  /*
   * A name that is too long or contains a NUL names no interface. Such a name must not match an interface with the same
   * beginning.
   */
  const bool possible = length > 0 && length < IF_NAMESIZE && strlen(name) == length;
  return to_uint(env, possible ? if_nametoindex(name) : 0);
}

/* streamPair(): returns both ends of a stream, close-on-exec: one for this process, one for a child. */
napi_value open_stream_pair(napi_env env, napi_callback_info info) {
  napi_value result, number;
  int ends[2];
  (void)info;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw_errno(env, "socketpair", errno);
    return NULL;
  }
  if (ok(env, napi_create_array_with_length(env, 2, &result)) && ok(env, napi_create_int32(env, ends[0], &number)) &&
      ok(env, napi_set_element(env, result, 0, number)) && ok(env, napi_create_int32(env, ends[1], &number)) &&
      ok(env, napi_set_element(env, result, 1, number)))
    return result;
  (void)close(ends[0]);
  (void)close(ends[1]);
  return NULL;
}

/*
 * keepLast(fd): makes an inherited descriptor close-on-exec and, if possible, the last of this process's descriptors.
 * Returns its number. The kernel closes the files of a dead process from the last to the first, and needs some 10 ms
 * for each packet socket. The guardian must not wait for those.
 */
napi_value keep_descriptor_last(napi_env env, napi_callback_info info) {
  napi_value values[1];
  int fd = -1;
  struct rlimit limit;
  if (!read_arguments(env, info, 1, values, NULL) || !read_int(env, values[0], &fd)) return NULL;
  const bool less = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < LAST_DESCRIPTOR;
  const rlim_t most = less ? limit.rlim_cur : LAST_DESCRIPTOR;
  const int kept = most > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, (int)most - 1) : -1;
  if (kept >= 0) {
    (void)close(fd);
    return to_int(env, kept);
  }
  const int flags = fcntl(fd, F_GETFD);
  if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) {
    throw_errno(env, "fcntl", errno);
    return NULL;
  }
  return to_int(env, fd);
}

static struct {
  unsigned int ms;
  int status;
} last_exit;

static void exit_later(void *unused) {
  (void)unused;
  uv_sleep(last_exit.ms);
  _exit(last_exit.status);
}

/*
 * exitWithin(ms, status): ends the process with that status if it has not ended by itself until then. An exit joins
 * every thread of libuv, and one that waits for a file system without a server never ends; the calling thread may wait
 * for one as well. Only the first call counts, because a second call can come only from the exit that the first one
 * limits.
 */
napi_value exit_within(napi_env env, napi_callback_info info) {
  static bool called = false;
  napi_value values[2];
  uv_thread_t thread;
  int ms = 0;
  int status = 0;
  if (!read_arguments(env, info, 2, values, NULL) || !read_int(env, values[0], &ms) || !read_int(env, values[1], &status))
    return NULL;
  if (ms < 0 || status < 0 || status > 255) {
    throw_range(env, "expected milliseconds and an exit status");
    return NULL;
  }
  if (called) return NULL;
  last_exit.ms = (unsigned int)ms;
  last_exit.status = status;
  const int error = uv_thread_create(&thread, exit_later, NULL);
  if (error != 0) throw_errno(env, "pthread_create", -error);
  called = error == 0;
  return NULL;
}
