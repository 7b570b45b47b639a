/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor that the event loop watches. This structure serves sockets, and descriptors that are only watched: the
 * pidfd of a process, the channel to the guardian, and a timerfd.
 *
 * Lifetime: the JavaScript object owns a handle, and after start() its libuv handles own it as well. libuv closes those
 * asynchronously, so an async cleanup hook keeps the environment (and, in a worker, this library) loaded until they are
 * closed. With a plain hook the close callback would run in unmapped memory.
 */
#ifndef ADDON_HANDLE_H
#define ADDON_HANDLE_H

#include "node.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <uv.h>

struct handle {
  unsigned references; /* the JavaScript object, and the libuv handles while one of them is not closed yet */
  napi_env env;
  int fd;
  unsigned batch;
  unsigned size;
  napi_ref wrapper; /* weak; strong between start() and stop(), so that a running handle is not collected */
  napi_ref meta;
  napi_ref data;
  napi_ref on_readable;
  napi_ref on_error;
  napi_ref on_writable; /* called once, then deleted */
  struct mmsghdr *messages;
  struct iovec *vectors;
  struct sockaddr_storage *names;
  unsigned char *control;
  unsigned used; /* headers that the last recvmmsg wrote, which must be reset before the next one */
  unsigned held; /* packets of the last batch that receive() has not returned yet */
  int held_error; /* negative errno of a read without JavaScript, which receive() has not returned yet; 0 = none */
  bool watching; /* between start() and stop() */
  bool deferred; /* the event loop does not watch the descriptor at present (defer.h) */
  bool has_uv_handles; /* poll and timer are initialised and not being closed */
  bool is_timer; /* a timerfd: the watcher itself reads what makes it readable */
  bool (*is_news)(struct handle *); /* decides in C whether JavaScript is called; NULL = always */
  void *own; /* memory of is_news, allocated with malloc() */
  napi_ref companion; /* object whose memory is_news uses */
  struct handle *partner; /* a socket's timer, or the socket of a timer (repetition.h) or news socket; NULL = none */
  struct handle *news; /* the news socket of a socket (defer.h); NULL = none */
  unsigned open_uv_handles; /* initialised, and their close callback has not run */
  unsigned quiet_errors; /* poll errors in a row that came without a reason */
  napi_async_cleanup_hook_handle hook;
  uv_poll_t poll;
  uv_timer_t retry;
};

#define CONTROL_SIZE 256u /* for one message; TTL, packet info, timestamp and overflow counter need 120 */

/* Returns the handle of a JavaScript object, or NULL after it has thrown. */
struct handle *unwrap_handle(napi_env env, napi_value self);

/* Returns a handle without a descriptor, or NULL after it has thrown an error of this system call. */
struct handle *create_handle(napi_env env, const char *syscall_name, unsigned batch, unsigned size);

/*
 * Gives the handle its descriptor and wraps it in `self`. For fd < 0 throws `failure`, the errno of `syscall_name`.
 * After true the finalizer owns the handle, even if a later step throws.
 */
bool adopt_descriptor(napi_env env, napi_value self, struct handle *handle, const char *syscall_name, int fd,
                      int failure);

/* Stops watching and closes the descriptor. Idempotent. */
void shut_handle(struct handle *handle);

/* Stops watching. The libuv handles stay for the next start(). */
void pause_handle(struct handle *handle);

void drop_reference(napi_env env, napi_ref *reference);

/* Returns false after it has thrown, if the function was called without new. */
bool called_with_new(napi_env env, napi_callback_info info);

/* Methods of every class of handles. */
napi_value handle_start(napi_env env, napi_callback_info info);
napi_value handle_stop(napi_env env, napi_callback_info info);
napi_value handle_close(napi_env env, napi_callback_info info);

/* Constructors of handles that are only watched. */
napi_value construct_process_end(napi_env env, napi_callback_info info);
napi_value construct_channel_end(napi_env env, napi_callback_info info);

#endif
