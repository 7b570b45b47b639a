/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a handle's descriptor in the event loop. A poll error never ends or stalls the process. A poll error is read
 * and reported, and the watcher continues.
 */
#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUIET_ERRORS_MAX 8u /* poll errors in a row without a reason to read: after these ... */
#define QUIET_ERROR_MS 10u /* ... the watcher pauses so long instead of spinning */
#define ERROR_QUEUE_MAX 64

static void on_poll(uv_poll_t *poll, int status, int events);

/* Calls a JavaScript function from the event loop. An exception of that function becomes an 'uncaughtException'. */
static void call_back(struct handle *h, napi_ref callback, bool with_number, int number) {
  napi_env env = h->env;
  napi_handle_scope scope;
  if (callback == NULL || napi_open_handle_scope(env, &scope) != napi_ok) return;
  napi_value function, receiver, argument = NULL, result;
  if (napi_get_reference_value(env, callback, &function) == napi_ok && function != NULL &&
      napi_get_global(env, &receiver) == napi_ok &&
      (!with_number || napi_create_int32(env, number, &argument) == napi_ok) &&
      napi_make_callback(env, NULL, receiver, function, with_number ? 1 : 0, &argument, &result) ==
          napi_pending_exception) {
    napi_value error;
    if (napi_get_and_clear_last_exception(env, &error) == napi_ok) (void)napi_fatal_exception(env, error);
  }
  (void)napi_close_handle_scope(env, scope);
}

/*
 * Returns the error that poll reported; 0 if receive() has already read it. Empties the error queue, which would
 * otherwise report for ever.
 */
static int read_error(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  for (int i = 0; i < ERROR_QUEUE_MAX; i++) {
    unsigned char byte;
    struct iovec vector = {&byte, sizeof byte};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
  }
  return error;
}

static int start_poll(struct handle *h) {
  return uv_poll_start(&h->poll, h->on_writable == NULL ? UV_READABLE : UV_READABLE | UV_WRITABLE, on_poll);
}

static void on_retry(uv_timer_t *timer);

static void resume_later(struct handle *h) {
  (void)uv_timer_start(&h->retry, on_retry, QUIET_ERROR_MS, 0);
}

static void resume(struct handle *h) {
  if (start_poll(h) != 0) resume_later(h);
}

static void on_retry(uv_timer_t *timer) {
  struct handle *h = timer->data;
  if (!h->watching) return;
  if (!h->deferred) resume(h);
  if (h->held != 0 || h->held_error != 0) call_back(h, h->on_readable, false, 0);
}

void rest_poll(struct handle *h) {
  (void)uv_poll_stop(&h->poll);
}

void wake_poll(struct handle *h) {
  if (h->watching) resume(h);
}

void report_soon(struct handle *h) {
  if (h->watching) (void)uv_timer_start(&h->retry, on_retry, 0, 0);
}

static void report_writable(struct handle *h) {
  /* The reference is taken from the handle first, because the callback may close the handle or start it again. */
  napi_ref once = h->on_writable;
  h->on_writable = NULL;
  resume(h);
  call_back(h, once, false, 0);
  drop_reference(h->env, &once);
}

static void report_readable(struct handle *h) {
  uint64_t ticks;
  /* A timer that was set again after the poll has nothing to read, and is not due. */
  if (h->is_timer && read(h->fd, &ticks, sizeof ticks) != (ssize_t)sizeof ticks) return;
  if (h->is_timer) keep_loop_alive(h, false);
  if (h->is_news != NULL && !h->is_news(h)) return;
  call_back(h, h->on_readable, false, 0);
}

/*
 * Reports an error. libuv has stopped the watcher, which resumes before the report, because the callback may close the
 * handle.
 */
static void report_error(struct handle *h) {
  const int error = read_error(h->fd);
  h->quiet_errors = error != 0 ? 0 : h->quiet_errors + 1;
  if (h->quiet_errors < QUIET_ERRORS_MAX)
    resume(h);
  else
    resume_later(h);
  if (error != 0) call_back(h, h->on_error, true, error);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
  struct handle *h = poll->data;
  if (!h->watching) return;
  if (status < 0) return report_error(h);
  h->quiet_errors = 0;
  if ((events & UV_WRITABLE) != 0 && h->on_writable != NULL) report_writable(h);
  if ((events & UV_READABLE) != 0 && h->watching) report_readable(h);
}

void keep_loop_alive(struct handle *h, bool keep) {
  if (keep)
    uv_ref((uv_handle_t *)&h->poll);
  else
    uv_unref((uv_handle_t *)&h->poll);
}

/* Runs when the environment ends. If the libuv handles are closing already, their callback removes the hook. */
static void on_environment_end(napi_async_cleanup_hook_handle hook, void *argument) {
  (void)hook;
  shut_handle(argument);
}

/* Makes the libuv handles, which live until close(). */
static bool make_uv_handles(napi_env env, struct handle *h) {
  uv_loop_t *loop = NULL;
  if (h->has_uv_handles) return true;
  if (h->fd < 0) {
    throw_errno(env, "epoll_ctl", EBADF);
    return false;
  }
  if (!ok(env, napi_get_uv_event_loop(env, &loop))) return false;
  if (!ok(env, napi_add_async_cleanup_hook(env, on_environment_end, h, &h->hook))) return false;
  const int status = uv_poll_init(loop, &h->poll, h->fd);
  if (status != 0) { /* nothing was registered with the loop yet */
    (void)napi_remove_async_cleanup_hook(h->hook);
    h->hook = NULL;
    throw_errno(env, "epoll_ctl", -status);
    return false;
  }
  (void)uv_timer_init(loop, &h->retry); /* cannot fail */
  h->poll.data = h;
  h->retry.data = h;
  h->references++;
  h->open_uv_handles = 2;
  h->has_uv_handles = true;
  return true;
}

/* Stores the callbacks. on_writable is optional: NULL. */
static bool keep_callbacks(napi_env env, struct handle *h, napi_value on_readable, napi_value on_error,
                           napi_value on_writable) {
  if (!ok(env, napi_create_reference(env, on_readable, 1, &h->on_readable))) return false;
  if (ok(env, napi_create_reference(env, on_error, 1, &h->on_error)) &&
      (on_writable == NULL || ok(env, napi_create_reference(env, on_writable, 1, &h->on_writable))) &&
      ok(env, napi_reference_ref(env, h->wrapper, NULL)))
    return true;
  drop_reference(env, &h->on_readable);
  drop_reference(env, &h->on_error);
  drop_reference(env, &h->on_writable);
  return false;
}

/* start(onReadable, onError, onWritable?) */
napi_value handle_start(napi_env env, napi_callback_info info) {
  napi_value values[3], self;
  size_t given = 3;
  napi_valuetype third = napi_undefined;
  if (!ok(env, napi_get_cb_info(env, info, &given, values, &self, NULL))) return NULL;
  if (given < 2) {
    throw_type(env, "too few arguments");
    return NULL;
  }
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL || !require_function(env, values[0]) || !require_function(env, values[1])) return NULL;
  if (given > 2 && !ok(env, napi_typeof(env, values[2], &third))) return NULL;
  if (third != napi_undefined && !require_function(env, values[2])) return NULL;
  if (!make_uv_handles(env, h)) return NULL;
  pause_handle(h);
  if (!keep_callbacks(env, h, values[0], values[1], third != napi_undefined ? values[2] : NULL)) return NULL;
  h->watching = true;
  const int status = start_poll(h);
  if (status != 0) {
    pause_handle(h);
    throw_errno(env, "epoll_ctl", -status);
  }
  /* A timer keeps the loop alive only after set(). */
  if (h->is_timer) keep_loop_alive(h, false);
  return NULL;
}

napi_value handle_stop(napi_env env, napi_callback_info info) {
  napi_value self;
  if (!read_arguments(env, info, 0, NULL, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h != NULL) pause_handle(h);
  return NULL;
}
