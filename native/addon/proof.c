/* SPDX-License-Identifier: Apache-2.0 */
/* See proof.h. */
#define _GNU_SOURCE
#include "proof.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "defer.h"
#include "handle.h"
#include "words.h"

#define RETRY_MS 1u

/*
 * Lives until the environment ends. The object of GuardianWords is kept as long, so that the memory stays mapped while
 * the event loop may call.
 */
struct prover {
  struct guardian_words *words;
  int ask_fd;
  struct pollfd *looks; /* poll(2) entries of the sockets and of the alarm */
  struct handle **handles; /* the same as handles */
  nfds_t count;
  uv_poll_t poll;
  uv_timer_t retry;
  int open_uv_handles;
  napi_async_cleanup_hook_handle hook;
};

/* ---- a proof ---- */

/* Requires that `mark` was read before the look at the sockets. */
static void store_proof(struct guardian_words *words, uint64_t mark) {
  __atomic_store_n(&words->proof_at, mark, __ATOMIC_SEQ_CST);
  uint64_t asked = __atomic_load_n(&words->asked_at, __ATOMIC_SEQ_CST);
  while (asked != 0 && asked <= mark &&
         !__atomic_compare_exchange_n(&words->asked_at, &asked, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    continue;
}

/*
 * Anything that poll() reports has to be read by the engine first: a packet, an error, or an alarm. The same is true for a
 * packet that the addon has read and JavaScript has not. Repetitions that wait are read here.
 */
static bool prove(struct prover *prover) {
  const uint64_t mark = uv_hrtime();
  for (nfds_t i = 0; i < prover->count; i++) {
    struct handle *const h = prover->handles[i];
    if (h->held != 0 || h->held_error != 0 || (h->deferred && read_deferred(h))) return false;
    prover->looks[i].revents = 0;
  }
  if (poll(prover->looks, prover->count, 0) != 0) return false;
  store_proof(prover->words, mark);
  return true;
}

/* prove() */
napi_value proof_prove(napi_env env, napi_callback_info info) {
  napi_value self, result;
  if (!read_arguments(env, info, 0, NULL, &self)) return NULL;
  const struct words_object *const object = unwrap_words_object(env, self);
  if (object == NULL) return NULL;
  const bool proven = object->prover != NULL && prove(object->prover);
  return ok(env, napi_get_boolean(env, proven, &result)) ? result : NULL;
}

/* ---- answers on the event loop ---- */

static void on_retry(uv_timer_t *timer);

/*
 * Answers the question, or tries again until the engine has read what waits. The callback that reads it need not end with
 * prove().
 */
static void answer(struct prover *prover) {
  const uint64_t asked = __atomic_load_n(&prover->words->asked_at, __ATOMIC_SEQ_CST);
  if (asked != 0 && !prove(prover)) (void)uv_timer_start(&prover->retry, on_retry, RETRY_MS, 0);
}

static void on_retry(uv_timer_t *timer) {
  answer(timer->data);
}

/* An event loop that answers turns, which is what the engine's beat says. */
static void on_question(uv_poll_t *poll_handle, int status, int events) {
  struct prover *const prover = poll_handle->data;
  uint64_t count;
  (void)status, (void)events;
  while (read(prover->ask_fd, &count, sizeof count) == (ssize_t)sizeof count) continue;
  __atomic_store_n(&prover->words->engine_beat, uv_hrtime(), __ATOMIC_SEQ_CST);
  answer(prover);
}

static void on_closed(uv_handle_t *uv_handle) {
  struct prover *const prover = uv_handle->data;
  if (--prover->open_uv_handles > 0) return;
  (void)napi_remove_async_cleanup_hook(prover->hook);
  free(prover->looks);
  free(prover->handles);
  free(prover);
}

static void close_prover(struct prover *prover) {
  (void)uv_poll_stop(&prover->poll);
  uv_close((uv_handle_t *)&prover->poll, on_closed);
  uv_close((uv_handle_t *)&prover->retry, on_closed);
}

static void on_environment_end(napi_async_cleanup_hook_handle hook, void *argument) {
  struct prover *const prover = argument;
  (void)hook;
  close_prover(prover);
}

static bool keep_from_children(napi_env env, int fd) {
  const int flags = fcntl(fd, F_GETFD);
  if (flags >= 0 && fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == 0) return true;
  throw_errno(env, "fcntl", errno);
  return false;
}

/* Begins to watch `fd`. Returns NULL after it has thrown. The event loop may end while nothing else keeps it. */
static struct prover *create_prover(napi_env env, napi_value self, struct guardian_words *words, int fd) {
  uv_loop_t *loop = NULL;
  napi_ref kept;
  if (!keep_from_children(env, fd) || !ok(env, napi_get_uv_event_loop(env, &loop))) return NULL;
  struct prover *const prover = calloc(1, sizeof *prover);
  int status = prover == NULL ? UV_ENOMEM : uv_poll_init(loop, &prover->poll, fd);
  if (status != 0) {
    free(prover);
    throw_errno(env, "epoll_ctl", -status);
    return NULL;
  }
  prover->words = words;
  prover->ask_fd = fd;
  (void)uv_timer_init(loop, &prover->retry); /* cannot fail */
  uv_unref((uv_handle_t *)&prover->retry);
  prover->poll.data = prover->retry.data = prover;
  prover->open_uv_handles = 2;
  if (!ok(env, napi_add_async_cleanup_hook(env, on_environment_end, prover, &prover->hook)) ||
      !ok(env, napi_create_reference(env, self, 1, &kept))) {
    close_prover(prover);
    return NULL;
  }
  status = uv_poll_start(&prover->poll, UV_READABLE, on_question);
  uv_unref((uv_handle_t *)&prover->poll);
  if (status == 0) return prover;
  throw_errno(env, "epoll_ctl", -status);
  return NULL;
}

/* The handles that answer() was called with, and their descriptors. */
struct looks {
  struct pollfd *looks;
  struct handle **handles;
  nfds_t count;
};

static void free_looks(struct looks *looks) {
  free(looks->looks);
  free(looks->handles);
}

/* Returns false after it has thrown. The caller releases the memory in any case. */
static bool read_handles(napi_env env, napi_value sockets, napi_value alarm, struct looks *looks) {
  uint32_t length = 0;
  if (!ok(env, napi_get_array_length(env, sockets, &length))) return false;
  looks->count = (nfds_t)length + (alarm == NULL ? 0 : 1);
  looks->looks = calloc(looks->count + 1, sizeof *looks->looks);
  looks->handles = calloc(looks->count + 1, sizeof *looks->handles);
  if (looks->looks == NULL || looks->handles == NULL) {
    throw_errno(env, "poll", ENOMEM);
    return false;
  }
  for (uint32_t i = 0; i < looks->count; i++) {
    napi_value each = alarm;
    const bool read = i == length || ok(env, napi_get_element(env, sockets, i, &each));
    looks->handles[i] = read ? unwrap_handle(env, each) : NULL;
    if (looks->handles[i] == NULL) return false;
    looks->looks[i] = (struct pollfd){.fd = looks->handles[i]->fd, .events = POLLIN};
  }
  return true;
}

/* answer(ask, sockets, alarm?) */
napi_value proof_answer(napi_env env, napi_callback_info info) {
  napi_value values[3], self;
  size_t given = 3;
  int fd = -1;
  struct looks looks = {NULL, NULL, 0};
  if (!ok(env, napi_get_cb_info(env, info, &given, values, &self, NULL))) return NULL;
  if (given < 2) {
    throw_type(env, "too few arguments");
    return NULL;
  }
  struct words_object *const object = unwrap_words_object(env, self);
  if (object == NULL || !read_int(env, values[0], &fd)) return NULL;
  const bool read = read_handles(env, values[1], given < 3 ? NULL : values[2], &looks);
  if (read && object->prover == NULL) object->prover = create_prover(env, self, object->memory, fd);
  if (!read || object->prover == NULL) {
    free_looks(&looks);
    return NULL;
  }
  struct looks before = {object->prover->looks, object->prover->handles, 0};
  free_looks(&before);
  object->prover->looks = looks.looks;
  object->prover->handles = looks.handles;
  object->prover->count = looks.count;
  return NULL;
}
