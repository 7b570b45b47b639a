/* SPDX-License-Identifier: Apache-2.0 */
/* See timer.h. */
#include "timer.h"

#include <errno.h>
#include <sys/timerfd.h>

#include "handle.h"
#include "watch.h"

napi_value construct_timer(napi_env env, napi_callback_info info) {
  napi_value self;
  if (!called_with_new(env, info) || !read_arguments(env, info, 0, NULL, &self)) return NULL;
  struct handle *h = create_handle(env, "timerfd_create", 1, 1);
  if (h == NULL) return NULL;
  h->is_timer = true;
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  return adopt_descriptor(env, self, h, "timerfd_create", fd, errno) ? self : NULL;
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
