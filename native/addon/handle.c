/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and ends the handles of handle.h. */
#define _GNU_SOURCE
#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static const napi_type_tag handle_tag = {0x6f1d9c6a2b7e4f03ull, 0x9a5c3e8d417fb260ull};

/* ---- end ---- */

static void release_handle(struct handle *h) {
  if (--h->references > 0) return;
  if (h->fd >= 0) (void)close(h->fd);
  free(h->messages);
  free(h->vectors);
  free(h->names);
  free(h->control);
  free(h->own);
  free(h);
}

void drop_reference(napi_env env, napi_ref *reference) {
  if (*reference != NULL) (void)napi_delete_reference(env, *reference);
  *reference = NULL;
}

/* libuv runs close callbacks in any order: the last one releases the environment. */
static void on_uv_handle_closed(uv_handle_t *uv_handle) {
  struct handle *h = uv_handle->data;
  if (--h->open_uv_handles > 0) return;
  (void)napi_remove_async_cleanup_hook(h->hook);
  h->hook = NULL;
  release_handle(h);
}

void pause_handle(struct handle *h) {
  if (!h->watching) return;
  h->watching = false;
  h->deferred = false;
  (void)uv_poll_stop(&h->poll);
  (void)uv_timer_stop(&h->retry);
  drop_reference(h->env, &h->on_readable);
  drop_reference(h->env, &h->on_error);
  drop_reference(h->env, &h->on_writable);
  if (h->wrapper != NULL) (void)napi_reference_unref(h->env, h->wrapper, NULL);
}

/* The descriptor is closed immediately, which libuv allows after uv_poll_stop(). */
void shut_handle(struct handle *h) {
  pause_handle(h);
  if (h->has_uv_handles) {
    h->has_uv_handles = false;
    uv_close((uv_handle_t *)&h->poll, on_uv_handle_closed);
    uv_close((uv_handle_t *)&h->retry, on_uv_handle_closed);
  }
  if (h->fd >= 0) {
    (void)close(h->fd);
    h->fd = -1;
  }
}

static void on_collected(napi_env env, void *pointer, void *hint) {
  struct handle *h = pointer;
  (void)hint;
  shut_handle(h);
  if (h->partner != NULL && h->partner->partner == h) h->partner->partner = NULL;
  if (h->partner != NULL && h->partner->news == h) h->partner->news = NULL;
  if (h->news != NULL) h->news->partner = NULL;
  h->partner = h->news = NULL;
  drop_reference(env, &h->meta);
  drop_reference(env, &h->data);
  drop_reference(env, &h->companion);
  drop_reference(env, &h->wrapper);
  release_handle(h);
}

napi_value handle_close(napi_env env, napi_callback_info info) {
  napi_value self;
  if (!read_arguments(env, info, 0, NULL, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h != NULL) shut_handle(h);
  return NULL;
}

/* ---- creation ---- */

struct handle *unwrap_handle(napi_env env, napi_value self) {
  bool ours = false;
  void *pointer = NULL;
  if (napi_check_object_type_tag(env, self, &handle_tag, &ours) != napi_ok || !ours ||
      napi_unwrap(env, self, &pointer) != napi_ok) {
    throw_type(env, "not a NativeSocket");
    return NULL;
  }
  return pointer;
}

bool called_with_new(napi_env env, napi_callback_info info) {
  napi_value target = NULL;
  if (!ok(env, napi_get_new_target(env, info, &target))) return false;
  if (target == NULL) throw_type(env, "needs new");
  return target != NULL;
}

static bool allocate_messages(struct handle *h) {
  h->messages = calloc(h->batch, sizeof *h->messages);
  h->vectors = calloc(h->batch, sizeof *h->vectors);
  h->names = calloc(h->batch, sizeof *h->names);
  h->control = calloc(h->batch, CONTROL_SIZE);
  h->used = h->batch;
  return h->messages != NULL && h->vectors != NULL && h->names != NULL && h->control != NULL;
}

struct handle *create_handle(napi_env env, const char *syscall_name, unsigned batch, unsigned size) {
  struct handle *h = calloc(1, sizeof *h);
  if (h != NULL) {
    h->references = 1;
    h->env = env;
    h->fd = -1;
    h->batch = batch;
    h->size = size;
    if (allocate_messages(h)) return h;
    release_handle(h);
  }
  throw_errno(env, syscall_name, ENOMEM);
  return NULL;
}

bool adopt_descriptor(napi_env env, napi_value self, struct handle *h, const char *syscall_name, int fd, int failure) {
  h->fd = fd;
  if (fd < 0) {
    release_handle(h);
    throw_errno(env, syscall_name, failure);
    return false;
  }
  if (!ok(env, napi_wrap(env, self, h, on_collected, NULL, &h->wrapper))) {
    release_handle(h);
    return false;
  }
  if (ok(env, napi_type_tag_object(env, self, &handle_tag))) return true;
  shut_handle(h);
  return false;
}

/* ProcessEnd: the pidfd of a process, which becomes readable when the process ends. */
napi_value construct_process_end(napi_env env, napi_callback_info info) {
  napi_value value, self;
  int pid = 0;
  if (!called_with_new(env, info) || !read_arguments(env, info, 1, &value, &self) || !read_int(env, value, &pid))
    return NULL;
  struct handle *h = create_handle(env, "pidfd_open", 1, 1);
  if (h == NULL) return NULL;
  /* The kernel makes a pidfd close-on-exec. */
  const int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
  return adopt_descriptor(env, self, h, "pidfd_open", fd, errno) ? self : NULL;
}

/* ChannelEnd: an open descriptor of this process, which the object owns from here on. */
napi_value construct_channel_end(napi_env env, napi_callback_info info) {
  napi_value value, self;
  int fd = -1;
  if (!called_with_new(env, info) || !read_arguments(env, info, 1, &value, &self) || !read_int(env, value, &fd))
    return NULL;
  struct handle *h = create_handle(env, "fcntl", 1, 1);
  if (h == NULL) return NULL;
  const bool open = fcntl(fd, F_GETFD) >= 0;
  return adopt_descriptor(env, self, h, "fcntl", open ? fd : -1, errno) ? self : NULL;
}
