/* SPDX-License-Identifier: Apache-2.0 */
/* See repeated.h. */
#define _GNU_SOURCE
#include "repeated.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "defer.h"
#include "repetition.h"

#define FIXED_LIMITS 5u
#define FIXED_RESULTS 3u
#define RECENT 10.0 /* ms */

static bool read_number(napi_env env, napi_value value, unsigned *number) {
  int given = 0;
  if (!read_int(env, value, &given)) return false;
  if (given >= 0 && (unsigned)given < NUMBERS) {
    *number = (unsigned)given;
    return true;
  }
  throw_range(env, "a number is 0 to 255");
  return false;
}

static struct repeated *memory_of(napi_env env, struct handle *h) {
  if (h->is_news == has_news) return h->own;
  if (h->own != NULL) { /* the socket expects frames */
    throw_type(env, "not a socket of advertisements");
    return NULL;
  }
  struct repeated *const own = calloc(1, sizeof *own);
  if (own == NULL) {
    throw_errno(env, "malloc", ENOMEM);
    return NULL;
  }
  const struct clocks now = read_both_clocks();
  own->timer_at = INFINITY;
  own->calm_wanted = CALM_LEAST;
  own->offset = now.realtime - now.monotonic;
  for (unsigned i = 0; i < NUMBERS; i++) own->deadline[i] = INFINITY;
  h->own = own;
  h->is_news = has_news;
  return own;
}

napi_value watch_repeated(napi_env env, napi_callback_info info) {
  napi_value values[5], self;
  unsigned char *bytes = NULL, *source = NULL, *destination = NULL;
  size_t length = 0, source_length = 0, destination_length = 0, limits = 0;
  double *limit = NULL;
  unsigned number;
  if (!read_arguments(env, info, 5, values, &self)) return NULL;
  struct handle *const h = unwrap_handle(env, self);
  if (h == NULL || !read_number(env, values[0], &number) || !read_bytes(env, values[1], &bytes, &length) ||
      !read_bytes(env, values[2], &source, &source_length) ||
      !read_bytes(env, values[3], &destination, &destination_length) ||
      !read_doubles(env, values[4], FIXED_LIMITS, &limit) ||
      !ok(env, napi_get_typedarray_info(env, values[4], NULL, &limits, NULL, NULL, NULL)))
    return NULL;
  const bool v4 = source_length == sizeof(struct sockaddr_in);
  if (length < (v4 ? 22u : 2u) || length > LONGEST_PACKET || length > h->size || source_length > META_SOURCE_MAX ||
      destination_length > 16 || limits - FIXED_LIMITS > MOST_BOUNDS) {
    throw_range(env, "packet, address or bounds have another length");
    return NULL;
  }
  struct repeated *const own = memory_of(env, h);
  if (own == NULL) return NULL;
  struct watch *const watch = &own->watch[number];
  change_watches(h);
  memset(watch, 0, sizeof *watch);
  memcpy(watch->bytes, bytes, length);
  memcpy(watch->source, source, source_length);
  memcpy(watch->destination, destination, destination_length);
  watch->length = length;
  watch->source_length = source_length;
  watch->heard_at = limit[0];
  watch->ttl = (int32_t)limit[1];
  watch->until = limit[2];
  watch->within = limit[3];
  watch->delay = limit[4];
  watch->bounds = (unsigned)(limits - FIXED_LIMITS);
  memcpy(watch->bound, limit + FIXED_LIMITS, watch->bounds * sizeof *limit);
  own->deadline[number] = watch->heard_at + watch->delay;
  if (own->deadline[number] < own->timer_at) set_deadline_timer(h->partner, own, own->deadline[number]);
  return NULL;
}

/* Returns the watch of the number, or NULL without one, or after it has thrown. */
static struct watch *find_watch(napi_env env, napi_value self, napi_value value, unsigned *number) {
  struct handle *const h = unwrap_handle(env, self);
  if (h == NULL || !read_number(env, value, number) || h->is_news != has_news) return NULL;
  struct watch *const watch = &((struct repeated *)h->own)->watch[*number];
  return watch->length == 0 ? NULL : watch;
}

/* Reads what waits, unless the socket was read a moment ago. */
static void refresh(struct handle *h) {
  const struct repeated *const own = h->own;
  if (h->deferred && read_both_clocks().monotonic - own->empty_at > RECENT) (void)read_deferred(h);
}

napi_value read_repeated(napi_env env, napi_callback_info info) {
  napi_value values[2], self, result;
  double *out = NULL;
  unsigned number;
  if (!read_arguments(env, info, 2, values, &self)) return NULL;
  struct watch *const watch = find_watch(env, self, values[0], &number);
  if (watch != NULL) {
    refresh(unwrap_handle(env, self));
    if (!read_doubles(env, values[1], FIXED_RESULTS + watch->bounds + 1, &out)) return NULL;
    out[0] = watch->heard_at;
    out[1] = watch->count;
    out[2] = watch->sum;
    memcpy(out + FIXED_RESULTS, watch->cell, (watch->bounds + 1) * sizeof *out);
    memset(watch->cell, 0, sizeof watch->cell);
    watch->count = watch->sum = 0;
  }
  return ok(env, napi_get_boolean(env, watch != NULL, &result)) ? result : NULL;
}

napi_value end_repeated(napi_env env, napi_callback_info info) {
  napi_value value, self;
  unsigned number;
  if (!read_arguments(env, info, 1, &value, &self)) return NULL;
  struct watch *const watch = find_watch(env, self, value, &number);
  if (watch == NULL) return NULL;
  struct handle *const h = unwrap_handle(env, self);
  change_watches(h);
  watch->length = 0;
  ((struct repeated *)h->own)->deadline[number] = INFINITY;
  return NULL;
}

napi_value due_repeated(napi_env env, napi_callback_info info) {
  napi_value values[2], self;
  size_t given = 2;
  napi_valuetype second = napi_undefined;
  if (!ok(env, napi_get_cb_info(env, info, &given, values, &self, NULL))) return NULL;
  if (given > 1 && !ok(env, napi_typeof(env, values[1], &second))) return NULL;
  struct handle *const h = unwrap_handle(env, self);
  struct handle *const timer = h == NULL ? NULL : unwrap_handle(env, values[0]);
  struct handle *const news = timer == NULL || second == napi_undefined ? NULL : unwrap_handle(env, values[1]);
  if (timer == NULL || (second != napi_undefined && news == NULL)) return NULL;
  if (!timer->is_timer || h->partner != NULL || timer->partner != NULL || (news != NULL && news->own != NULL)) {
    throw_type(env, "expected a NativeTimer, once, and an unused NativeSocket");
    return NULL;
  }
  if (memory_of(env, h) == NULL || !ok(env, napi_create_reference(env, values[0], 1, &h->companion))) return NULL;
  /* The socket keeps the timer, and the timer keeps the news socket. */
  if (news != NULL && !ok(env, napi_create_reference(env, values[1], 1, &timer->companion))) return NULL;
  if (news != NULL) use_news_socket(h, news);
  h->partner = timer;
  timer->partner = h;
  timer->is_news = is_deadline_due;
  return NULL;
}
