/* SPDX-License-Identifier: Apache-2.0 */
/* See timer.h. */
#include "timer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/timerfd.h>

#include "handle.h"
#include "watch.h"

/* Makes an inherited descriptor close-on-exec. Returns it, or -1 with errno if it is no timerfd. */
static int adopt_timer(int fd) {
  struct itimerspec moment;
  const int flags = fcntl(fd, F_GETFD);
  if (flags < 0 || timerfd_gettime(fd, &moment) != 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) return -1;
  return fd;
}

/* new NativeTimer(fd?) */
napi_value construct_timer(napi_env env, napi_callback_info info) {
  napi_value value, self;
  size_t given = 1;
  int fd = -1;
  if (!called_with_new(env, info) || !ok(env, napi_get_cb_info(env, info, &given, &value, &self, NULL))) return NULL;
  if (given > 0 && !read_int(env, value, &fd)) return NULL;
  const char *const syscall_name = given > 0 ? "timerfd_gettime" : "timerfd_create";
  struct handle *h = create_handle(env, syscall_name, 1, 1);
  if (h == NULL) return NULL;
  h->is_timer = true;
  fd = given > 0 ? adopt_timer(fd) : timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  return adopt_descriptor(env, self, h, syscall_name, fd, errno) ? self : NULL;
}

napi_value timer_set(napi_env env, napi_callback_info info) {
  napi_value value, self;
  double at = 0;
  if (!read_arguments(env, info, 1, &value, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL) return NULL;
  if (napi_get_value_double(env, value, &at) != napi_ok || !(at >= 0 && at < 9e12)) {
    throw_type(env, "expected a moment in ms");
    return NULL;
  }
  /* Adds half a microsecond: a time that was rounded down on its way here must not fire early. */
  const int64_t ns = at > 0 ? (int64_t)(at * 1e6) + 500 : 0;
  const struct itimerspec moment = {.it_value = {ns / 1000000000, ns % 1000000000}};
  if (timerfd_settime(h->fd, TFD_TIMER_ABSTIME, &moment, NULL) != 0)
    throw_errno(env, "timerfd_settime", errno);
  else if (h->has_uv_handles)
    keep_loop_alive(h, ns > 0);
  return NULL;
}
