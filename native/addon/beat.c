/* SPDX-License-Identifier: Apache-2.0 */
/* See beat.h. */
#include "beat.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <uv.h>

#include "handle.h"
#include "words.h"

#define NS_PER_MS 1000000u
#define BEAT_NS (1000u * NS_PER_MS) /* the guardian reports an engine that has been silent for two of these */
#define LATE_NS (250u * NS_PER_MS) /* a later look shows that this process did not run itself */
#define GRAIN_NS NS_PER_MS

struct beat_watch {
  struct guardian_words *words;
  uint64_t patience;
  uint64_t call_at; /* JavaScript wants to be called by then; UINT64_MAX = it was called */
  uint64_t due;
  uint64_t stalled_at; /* the last look that was late; 0 = none */
};

static void arm(struct handle *h, uint64_t at) {
  struct beat_watch *const watch = h->own;
  const struct itimerspec moment = {.it_value = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)}};
  watch->due = at;
  (void)timerfd_settime(h->fd, TFD_TIMER_ABSTIME, &moment, NULL); /* fails for wrong arguments only */
}

/* Returns the time at which the guardian counts as silent. */
static uint64_t silent_at(const struct beat_watch *watch) {
  const uint64_t beat = __atomic_load_n(&watch->words->guardian_beat, __ATOMIC_SEQ_CST);
  return (beat > watch->stalled_at ? beat : watch->stalled_at) + watch->patience;
}

/* Arms the next look: at the guardian's silence, at the time that JavaScript wanted, or for the engine's next beat. */
static void arm_next(struct handle *h, uint64_t now) {
  const struct beat_watch *const watch = h->own;
  const uint64_t silent = silent_at(watch) + GRAIN_NS;
  uint64_t at = now + BEAT_NS;
  if (silent < at) at = silent;
  if (watch->call_at < at) at = watch->call_at;
  arm(h, at > now ? at : now + GRAIN_NS);
}

/*
 * Handles the timer. Returns whether JavaScript has something to decide. In this case the function calls set() for the
 * next time.
 */
static bool look(struct handle *h) {
  struct beat_watch *const watch = h->own;
  const uint64_t now = uv_hrtime();
  const bool late = now > watch->due + LATE_NS;
  __atomic_store_n(&watch->words->engine_beat, now, __ATOMIC_SEQ_CST);
  if (late) watch->stalled_at = now;
  if (!late && now < watch->call_at && now <= silent_at(watch)) {
    arm_next(h, now);
    return false;
  }
  watch->call_at = UINT64_MAX;
  arm(h, now + BEAT_NS);
  return true;
}

napi_value construct_beat_watch(napi_env env, napi_callback_info info) {
  napi_value values[1], self;
  if (!called_with_new(env, info) || !read_arguments(env, info, 1, values, &self)) return NULL;
  const struct words_object *const words = unwrap_words_object(env, values[0]);
  if (words == NULL) return NULL;
  struct handle *h = create_handle(env, "timerfd_create", 1, 1);
  if (h == NULL) return NULL;
  struct beat_watch *const watch = calloc(1, sizeof *watch);
  h->own = watch; /* released with the handle */
  h->is_timer = true;
  h->is_news = look;
  const int fd = watch == NULL ? -1 : timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (!adopt_descriptor(env, self, h, "timerfd_create", fd, watch == NULL ? ENOMEM : errno)) return NULL;
  watch->words = words->memory;
  /* The memory stays mapped while its object lives. */
  return ok(env, napi_create_reference(env, values[0], 1, &h->companion)) ? self : NULL;
}

/* Returns the watch of a BeatWatch, or NULL after it has thrown. */
static struct beat_watch *watch_of(napi_env env, struct handle *h) {
  if (h == NULL) return NULL;
  if (h->is_news == look) return h->own;
  throw_type(env, "not a BeatWatch");
  return NULL;
}

napi_value beat_watch_set(napi_env env, napi_callback_info info) {
  napi_value values[2], self;
  double patience = 0, within = 0;
  if (!read_arguments(env, info, 2, values, &self)) return NULL;
  struct handle *const h = unwrap_handle(env, self);
  struct beat_watch *const watch = watch_of(env, h);
  if (watch == NULL || !read_ms(env, values[0], &patience) || !read_ms(env, values[1], &within)) return NULL;
  const uint64_t now = uv_hrtime();
  watch->patience = (uint64_t)(patience * 1e6);
  watch->call_at = now + (uint64_t)(within * 1e6);
  arm_next(h, now);
  return NULL;
}

napi_value beat_watch_heard_at(napi_env env, napi_callback_info info) {
  napi_value self, result;
  size_t count = 0;
  if (!ok(env, napi_get_cb_info(env, info, &count, NULL, &self, NULL))) return NULL;
  const struct beat_watch *const watch = watch_of(env, unwrap_handle(env, self));
  if (watch == NULL) return NULL;
  return ok(env, napi_create_double(env, (double)watch->stalled_at / 1e6, &result)) ? result : NULL;
}
