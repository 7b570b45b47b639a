/* SPDX-License-Identifier: Apache-2.0 */
/* See expected.h. */
#include "expected.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "handle.h"
#include "words.h"

#define MOST_FRAMES 32
#define LONGEST_FRAME 96u /* a Neighbor Advertisement with its option has 86 */
#define MOST_DROPPED 64 /* in one wake-up; a storm of frames must not keep the event loop */

struct frame {
  unsigned char bytes[LONGEST_FRAME];
  size_t length; /* 0 = none */
  uint64_t within;
  uint64_t last;
};

struct expected {
  struct frame frames[MOST_FRAMES];
};

static struct frame *find(struct expected *expected, const unsigned char *bytes, size_t length) {
  for (int i = 0; i < MOST_FRAMES; i++) {
    struct frame *const frame = &expected->frames[i];
    if (frame->length != 0 && frame->length <= length && memcmp(frame->bytes, bytes, frame->length) == 0) return frame;
  }
  return NULL;
}

/* Drops expected frames. Returns whether a frame waits that JavaScript has to read: an unexpected or a late one. */
static bool is_unexpected(struct handle *h) {
  for (int i = 0; i < MOST_DROPPED; i++) {
    unsigned char bytes[LONGEST_FRAME];
    const ssize_t length = recv(h->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (length < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
    struct frame *const frame = find(h->own, bytes, (size_t)length);
    if (frame == NULL) return true;
    const uint64_t now = uv_hrtime();
    if (now - frame->last > frame->within) return true; /* JavaScript needs the time of the last one */
    frame->last = now;
    (void)recv(h->fd, bytes, sizeof bytes, MSG_DONTWAIT);
  }
  return true;
}

/* Returns the number that is the first argument, or NULL after it has thrown. */
static struct frame *numbered(napi_env env, struct handle *h, napi_value value) {
  int number = 0;
  if (!read_int(env, value, &number)) return NULL;
  if (number >= 0 && number < MOST_FRAMES) return &((struct expected *)h->own)->frames[number];
  throw_range(env, "a frame has a number from 0 to 31");
  return NULL;
}

napi_value socket_expect(napi_env env, napi_callback_info info) {
  napi_value values[3], self;
  unsigned char *bytes = NULL;
  size_t length = 0;
  double within = 0;
  if (!read_arguments(env, info, 3, values, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL || !read_bytes(env, values[1], &bytes, &length) || !read_ms(env, values[2], &within)) return NULL;
  if (h->own == NULL) h->own = calloc(1, sizeof(struct expected));
  if (h->own == NULL) {
    throw_errno(env, "malloc", ENOMEM);
    return NULL;
  }
  struct frame *const frame = numbered(env, h, values[0]);
  if (frame == NULL) return NULL;
  if (length == 0 || length > LONGEST_FRAME) {
    throw_range(env, "a frame has 1 to 96 bytes");
    return NULL;
  }
  memcpy(frame->bytes, bytes, length);
  frame->length = length;
  frame->within = (uint64_t)(within * 1e6);
  frame->last = uv_hrtime();
  h->is_news = is_unexpected;
  return NULL;
}

napi_value socket_expected_at(napi_env env, napi_callback_info info) {
  napi_value value, self, result;
  if (!read_arguments(env, info, 1, &value, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL) return NULL;
  double ms = 0;
  if (h->is_news == is_unexpected) {
    const struct frame *const frame = numbered(env, h, value);
    if (frame == NULL) return NULL;
    ms = (double)frame->last / 1e6;
  }
  return ok(env, napi_create_double(env, ms, &result)) ? result : NULL;
}

napi_value socket_expect_nothing(napi_env env, napi_callback_info info) {
  napi_value self;
  if (!read_arguments(env, info, 0, NULL, &self)) return NULL;
  struct handle *h = unwrap_handle(env, self);
  if (h == NULL || h->is_news != is_unexpected) return NULL;
  memset(h->own, 0, sizeof(struct expected));
  h->is_news = NULL;
  return NULL;
}
