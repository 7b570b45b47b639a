/* SPDX-License-Identifier: Apache-2.0 */
/* See defer.h. */
#define _GNU_SOURCE
#include "defer.h"

#include <math.h>
#include <sys/socket.h>

#include "news-filter.h"
#include "receive.h"
#include "repetition.h"
#include "watch.h"

#define CALM_MOST 1024u
#define LONG_CALM 60000.0 /* ms */
#define SETTLE 1.0 /* ms after which the socket is read once more */
#define LARGEST_PACKET 4608.0 /* octets of the receive buffer that a driver may use for one packet */
#define USUAL_GAP 1.75 /* `within` of a watch is that many intervals */
#define BATCHES_MAX 32
#define NEWS_MAX 64

/* The kernel copies a program, so all sockets can use the same memory. */
static struct sock_filter program[BPF_MAXINSNS];

static bool attach(const struct handle *news, unsigned short length) {
  const struct sock_fprog filter = {length, program};
  return setsockopt(news->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

static void attach_nothing(const struct handle *news) {
  program[0] = (struct sock_filter){.code = BPF_RET | BPF_K};
  (void)attach(news, 1);
}

/* Empties the news socket. Its packets are in the other socket as well, where they are read. */
static bool hear_news(struct handle *news) {
  unsigned char octet;
  for (int i = 0; i < NEWS_MAX && recv(news->fd, &octet, 1, MSG_DONTWAIT) >= 0; i++) continue;
  struct handle *const h = news->partner;
  if (h == NULL) return false;
  struct repeated *const own = h->own;
  /* Foreign advertisements come again and again. Each of them would otherwise cost a deferral and its filter. */
  if (h->deferred && read_both_clocks().monotonic - own->deferred_at > LONG_CALM)
    own->calm_wanted = CALM_LEAST;
  else if (h->deferred && own->calm_wanted < CALM_MOST)
    own->calm_wanted *= 2;
  end_deferral(h);
  return false;
}

void use_news_socket(struct handle *h, struct handle *news) {
  attach_nothing(news);
  news->is_news = hear_news;
  news->partner = h;
  h->news = news;
}

/* ---- beginning ---- */

/* Tells whether the receive buffer holds what arrives until the earliest deadline. */
static bool has_room(const struct handle *h) {
  const struct repeated *const own = h->own;
  int size = 0;
  socklen_t length = sizeof size;
  if (getsockopt(h->fd, SOL_SOCKET, SO_RCVBUF, &size, &length) != 0) return false;
  double packets = 0;
  for (unsigned i = 0; i < NUMBERS; i++)
    if (own->watch[i].length != 0) packets += own->watch[i].delay / own->watch[i].within * USUAL_GAP + 1;
  return packets * LARGEST_PACKET <= size;
}

static double earliest_end(const struct repeated *own) {
  double earliest = INFINITY;
  for (unsigned i = 0; i < NUMBERS; i++)
    if (own->watch[i].length != 0 && own->watch[i].until < earliest) earliest = own->watch[i].until;
  return earliest;
}

/*
 * A packet that is on its way to both sockets now may pass the news socket before its filter is attached. So the socket
 * is read once more a moment later.
 */
static void begin(struct handle *h) {
  struct repeated *const own = h->own;
  const double now = read_both_clocks().monotonic;
  const unsigned short length = write_news_filter(own, program);
  own->until = earliest_end(own);
  own->is_refused = length == 0 || own->until <= now || !has_room(h) || !attach(h->news, length);
  if (own->is_refused) return;
  h->deferred = true;
  own->deferred_at = now;
  rest_poll(h);
  if (own->timer_at > now + SETTLE) set_deadline_timer(h->partner, own, now + SETTLE);
}

void note_calm(struct handle *h) {
  struct repeated *const own = h->own;
  if (h->news == NULL || h->news->fd < 0 || h->partner == NULL || h->partner->fd < 0) return;
  if (h->deferred || own->is_refused || !own->is_empty || ++own->calm < own->calm_wanted) return;
  own->calm = 0;
  begin(h);
}

/* ---- reading, end ---- */

bool read_deferred(struct handle *h) {
  struct repeated *const own = h->own;
  napi_handle_scope scope;
  if (napi_open_handle_scope(h->env, &scope) != napi_ok) return false;
  bool has_news = false;
  own->is_empty = false;
  for (int i = 0; i < BATCHES_MAX && !has_news && !own->is_empty; i++) has_news = receive_ahead(h);
  (void)napi_close_handle_scope(h->env, scope);
  if (has_news || !own->is_empty) end_deferral(h);
  if (has_news) report_soon(h);
  return has_news;
}

void end_deferral(struct handle *h) {
  if (!h->deferred) return;
  h->deferred = false;
  ((struct repeated *)h->own)->calm = 0;
  if (h->news != NULL && h->news->fd >= 0) attach_nothing(h->news);
  wake_poll(h);
}
