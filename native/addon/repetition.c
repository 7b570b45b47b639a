/* SPDX-License-Identifier: Apache-2.0 */
/* See repetition.h. */
#define _GNU_SOURCE
#include "repetition.h"

#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#include "defer.h"
#include "node.h"
#include "receive.h"

#define MOST_OFFSET_CHANGE 1.0 /* ms between two readings of the clocks; more is a step of CLOCK_REALTIME */

/* ---- time ---- */

static double ms_of(clockid_t id) {
  struct timespec now;
  (void)clock_gettime(id, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

struct clocks read_both_clocks(void) {
  const double monotonic = ms_of(CLOCK_MONOTONIC);
  return (struct clocks){monotonic, ms_of(CLOCK_REALTIME)};
}

/*
 * The rules of src/linux/sockets/receive-time.ts: a doubtful time stamp counts as now. After a step of CLOCK_REALTIME, the
 * later possible time counts. The call that received the packet has ended.
 */
static double receive_time(const struct repeated *own, double stamp, struct clocks before) {
  const double offset = before.realtime - before.monotonic;
  if (stamp == 0) return before.monotonic;
  double at = stamp - offset;
  if (fabs(offset - own->offset) > MOST_OFFSET_CHANGE) {
    const double other = stamp - own->offset;
    const double later = at > other ? at : other;
    at = later <= ms_of(CLOCK_MONOTONIC) ? later : at < other ? at : other;
  }
  return at >= own->empty_at && at <= before.monotonic ? at : before.monotonic;
}

/* ---- the deadline ---- */

static double nearest_deadline(const struct repeated *own) {
  double nearest = INFINITY;
  for (unsigned i = 0; i < NUMBERS; i++)
    if (own->deadline[i] < nearest) nearest = own->deadline[i];
  return nearest;
}

void set_deadline_timer(const struct handle *timer, struct repeated *own, double at) {
  own->timer_at = at;
  if (timer == NULL || timer->fd < 0) return;
  /* Adds half a microsecond: a time that was rounded down must not fire early. */
  const int64_t ns = isinf(at) ? 0 : (int64_t)(at * 1e6) + 500;
  const struct itimerspec moment = {.it_value = {ns / 1000000000, ns % 1000000000}};
  (void)timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &moment, NULL);
}

/* Returns the next time at which the timer has a reason to fire. */
static double wake_at(const struct handle *h) {
  const struct repeated *const own = h->own;
  const double nearest = nearest_deadline(own);
  return h->deferred && own->until < nearest ? own->until : nearest;
}

/* Moves the timer if it would fire within `soon` ms. By this, the timer seldom fires for a deadline that has moved. */
static void move_timer(const struct handle *h, double now, double soon) {
  struct repeated *const own = h->own;
  if (own->timer_at > now + soon && !isinf(own->timer_at)) return;
  const double nearest = wake_at(h);
  if (nearest != own->timer_at) set_deadline_timer(h->partner, own, nearest);
}

/* After true, the next receive call sets the timer again. */
bool is_deadline_due(struct handle *timer) {
  struct handle *const h = timer->partner;
  if (h == NULL) return false;
  struct repeated *const own = h->own;
  own->timer_at = INFINITY;
  if (h->deferred) (void)read_deferred(h);
  const double now = ms_of(CLOCK_MONOTONIC), nearest = nearest_deadline(own);
  if (h->deferred && (own->until <= now || nearest <= now)) end_deferral(h);
  if (nearest <= now) {
    /* The reading above may have set the timer to the deadline that has passed. */
    if (!isinf(own->timer_at)) set_deadline_timer(timer, own, INFINITY);
    return true;
  }
  const double at = wake_at(h);
  if (at != own->timer_at) set_deadline_timer(timer, own, at);
  return false;
}

void change_watches(struct handle *h) {
  struct repeated *const own = h->own;
  end_deferral(h);
  own->calm = 0;
  own->calm_wanted = CALM_LEAST;
  own->is_refused = false;
}

/* ---- repetitions ---- */

static uint32_t u32_at(const unsigned char *record, size_t offset) {
  uint32_t value;
  memcpy(&value, record + offset, sizeof value);
  return value;
}

/* Compares a header of 20 octets, but not type of service, ID, "do not fragment" and checksum. */
static bool is_same_header(const unsigned char *one, const unsigned char *other) {
  return one[0] == 0x45 && one[0] == other[0] && memcmp(one + 2, other + 2, 2) == 0 && (one[6] & 0xbf) == 0 &&
         one[7] == 0 && memcmp(one + 8, other + 8, 2) == 0 && memcmp(one + 12, other + 12, 8) == 0;
}

static bool is_same(const struct watch *watch, const unsigned char *record, const unsigned char *bytes) {
  if (u32_at(record, META_LENGTH) != watch->length || u32_at(record, META_FLAGS) != 0) return false;
  if ((int32_t)u32_at(record, META_TTL) != watch->ttl || u32_at(record, META_SOURCE_LENGTH) != watch->source_length ||
      memcmp(record + META_SOURCE, watch->source, watch->source_length) != 0 ||
      memcmp(record + META_DESTINATION, watch->destination, sizeof watch->destination) != 0)
    return false;
  const size_t header = watch->source_length == sizeof(struct sockaddr_in) ? 20 : 0;
  if (header != 0 && !is_same_header(bytes, watch->bytes)) return false;
  return memcmp(bytes + header, watch->bytes + header, watch->length - header) == 0;
}

/* Notes a repetition. Returns false if JavaScript has to see this one. */
static bool note(struct watch *watch, double at) {
  const double gap = at - watch->heard_at;
  if (!(gap > 0 && gap < watch->within && at <= watch->until)) return false;
  unsigned i = 0;
  while (i < watch->bounds && gap > watch->bound[i]) i++;
  watch->cell[i]++;
  watch->sum += gap;
  watch->count++;
  watch->heard_at = at;
  return true;
}

/* Returns the number of a packet, or NUMBERS if it has none. */
static unsigned number_of(const struct handle *h, const unsigned char *record, const unsigned char *bytes) {
  const uint32_t length = u32_at(record, META_LENGTH) < h->size ? u32_at(record, META_LENGTH) : h->size;
  const bool v4 = u32_at(record, META_SOURCE_LENGTH) == sizeof(struct sockaddr_in);
  const size_t at = length == 0 ? 1 : (v4 ? (size_t)(bytes[0] & 0x0f) * 4 : 0) + 1;
  return at < length ? bytes[at] : NUMBERS;
}

void take_repeated(struct handle *h, unsigned char *meta, const unsigned char *data, unsigned from, unsigned to,
                   struct clocks before, bool empty) {
  if (h->is_news != has_news) return;
  struct repeated *const own = h->own;
  bool is_news[NUMBERS + 1] = {false};
  double soon = 0;
  /* A number with news in an unread packet keeps the order of its packets. */
  for (unsigned i = 0; i < from; i++)
    if (u32_at(meta + (size_t)i * META_SIZE, META_FLAGS) != FLAG_REPEATED)
      is_news[number_of(h, meta + (size_t)i * META_SIZE, data + (size_t)i * h->size)] = true;
  for (unsigned i = from; i < to; i++) {
    unsigned char *const record = meta + (size_t)i * META_SIZE;
    const unsigned char *const bytes = data + (size_t)i * h->size;
    const unsigned number = number_of(h, record, bytes);
    const uint32_t overflow = u32_at(record, META_OVERFLOW);
    const bool lost = overflow != 0 && overflow != own->overflow;
    if (lost) own->overflow = overflow;
    if (number == NUMBERS || is_news[number]) continue;
    struct watch *const watch = &own->watch[number];
    double stamp;
    memcpy(&stamp, record + META_REALTIME, sizeof stamp);
    if (lost || watch->length == 0 || !is_same(watch, record, bytes) || !note(watch, receive_time(own, stamp, before))) {
      is_news[number] = true;
      continue;
    }
    own->deadline[number] = watch->heard_at + watch->delay;
    if (watch->within > soon) soon = watch->within;
    const uint32_t flags = FLAG_REPEATED;
    memcpy(record + META_FLAGS, &flags, sizeof flags);
  }
  own->is_empty = empty;
  if (empty) {
    own->empty_at = before.monotonic;
    own->offset = before.realtime - before.monotonic;
  }
  move_timer(h, before.monotonic, soon);
}

bool has_news(struct handle *h) {
  napi_handle_scope scope;
  /* Packets that are read behind an unread error would be lost: receive() returns the error, and forgets the batch. */
  if (h->held != 0 || h->held_error != 0) return true;
  if (napi_open_handle_scope(h->env, &scope) != napi_ok) return true;
  const bool news = receive_ahead(h);
  (void)napi_close_handle_scope(h->env, scope);
  if (news)
    ((struct repeated *)h->own)->calm = 0;
  else
    note_calm(h);
  return news;
}
