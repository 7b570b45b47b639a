/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the addon's reading of packets, and its comparison of a packet with the last one, with libFuzzer and
 * sanitizers. The subjects are addon/receive.c, repetition.c, defer.c, news-filter.c and metadata.c. recvmmsg() and the
 * clocks are replaced (fuzz/build.sh). The replaced recvmmsg() returns packets that are mutations of the watched one. A
 * second reader, written for this file, says which packet is a repetition. Each packet must be noted or delivered, once
 * and in the order of the queue. While reading is deferred, the news socket must have each packet but repetitions.
 *
 * An input: byte 0 chooses the family, byte 1 the length of the watched packet. After these two bytes, operations of
 * four bytes follow: what happens, the place and the bits of a change, and the time that passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../addon/defer.h"
#include "../addon/receive.h"
#include "../addon/repetition.h"
#include "../addon/socket.h"
#include "receive.h"

#define VRIDS 2u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the second reader ---- */

struct model {
  struct sent last; /* the watched packet */
  double heard_at, until, count, sum;
  bool watched;
};

static struct model models[VRIDS];
static uint32_t known_drops;
static bool news[256];
static unsigned calm; /* looks in a row that found only repetitions */
static bool is_due; /* JavaScript is about to drain, which sets the timer again */

/* Returns whether the packet is a repetition, and notes it. */
static bool repeats(const struct sent *packet) {
  const bool lost = packet->drops != 0 && packet->drops != known_drops;
  if (lost) known_drops = packet->drops;
  const int vrid = vrid_of(packet);
  if (vrid < 0 || news[vrid]) return false;
  struct model *const model = (unsigned)vrid < VRIDS ? &models[vrid] : NULL;
  const double at = time_of(packet);
  if (!lost && model != NULL && model->watched && is_like(packet, &model->last) && at > model->heard_at &&
      at - model->heard_at < 175 && at <= model->until) {
    model->count++;
    model->sum += at - model->heard_at;
    model->heard_at = at;
    return true;
  }
  news[vrid] = true;
  return false;
}

/* Compares the records from `from` on with the packets that were taken. Returns whether one of them is news. */
static bool check_records(unsigned from, bool emptied) {
  bool has_other = false;
  for (unsigned i = from; i < waiting; i++) {
    uint32_t flags, length;
    memcpy(&flags, meta + i * META_SIZE + META_FLAGS, sizeof flags);
    memcpy(&length, meta + i * META_SIZE + META_LENGTH, sizeof length);
    require(length == (taken[i].length < SIZE ? taken[i].length : SIZE));
    require(memcmp(bytes + i * SIZE, taken[i].bytes, length) == 0);
    const bool repeated = repeats(&taken[i]);
    require(repeated == (flags == FLAG_REPEATED));
    has_other = has_other || !repeated;
  }
  if (emptied) mark_empty(monotonic);
  const struct repeated *const own = handle.own;
  double nearest = INFINITY;
  for (unsigned i = 0; i < VRIDS; i++) {
    const struct watch *const watch = &own->watch[i];
    double cells = 0;
    for (unsigned cell = 0; cell <= watch->bounds; cell++) cells += watch->cell[cell];
    require(watch->count == models[i].count && watch->sum == models[i].sum && cells == watch->count);
    require(!models[i].watched || own->deadline[i] == models[i].heard_at + watch->delay);
    if (own->deadline[i] < nearest) nearest = own->deadline[i];
  }
  require(is_due || own->timer_at <= nearest); /* a timer that is too late is a takeover that is too late */
  return has_other;
}

static void forget_batch(void) {
  waiting = 0;
  memset(news, 0, sizeof news);
}

/* The addon reads on: JavaScript did not have to see the batch before. */
static void end_batch(void) {
  require(!check_records(0, waiting < BATCH));
  forget_batch();
}

/* The event loop wakes for each packet that is no repetition. */
static void check_deferral(void) {
  require(polled != handle.deferred);
  if (!handle.deferred) return;
  require(waiting == 0 && handle.held == 0 && handle.held_error == 0);
  for (unsigned i = 0; i < queued; i++) {
    const int vrid = vrid_of(&queue[i]);
    const bool is_watched = vrid >= 0 && (unsigned)vrid < VRIDS && models[vrid].watched;
    require(news_queued > 0 || (is_watched && is_like(&queue[i], &models[vrid].last)));
  }
}

/* A packet waits in the news socket. */
static void hear(void) {
  if (news_queued == 0) return;
  require(!news_socket.is_news(&news_socket) && !handle.deferred && polled && news_queued == 0);
}

/* The event loop finds the socket readable. */
static void look(void) {
  if (!polled) return;
  const unsigned held = waiting;
  const int error = failure;
  const bool unread = held != 0 || handle.held_error != 0;
  const bool said = has_news(&handle);
  calm = said ? 0 : calm + 1;
  require(!handle.deferred || calm >= CALM_LEAST);
  if (unread && waiting == held) return require(said);
  const bool expected = check_records(0, waiting < BATCH && error == 0);
  if (error != 0) return require(said);
  require(said == (expected || unread) && handle.held == (expected ? waiting : 0));
  if (!expected) forget_batch();
}

/* JavaScript calls receive(). */
static void receive(void) {
  const unsigned held = waiting;
  const bool fails = handle.held_error != 0;
  const int error = failure;
  const int count = (int)(intptr_t)(void *)socket_receive(NULL, NULL) - 1000;
  if (fails) return require(count < 0);
  if (held < BATCH && check_records(held, waiting < BATCH && error == 0)) require(!handle.deferred);
  require(count == (int)waiting || (held == 0 && count == -error));
  forget_batch();
}

/* JavaScript drains before it decides. */
static void drain(void) {
  is_due = false;
  do receive();
  while (queued != 0 || handle.held != 0 || handle.held_error != 0);
  receive(); /* a full batch of packets that were read before may have ended the loop */
}

/* The timer fires, possibly for a deadline that has moved. */
static void fire(void) {
  const bool was_deferred = handle.deferred;
  const int error = failure;
  reported = false;
  const bool due = is_due = is_deadline_due(&timer);
  bool passed = false;
  for (unsigned i = 0; i < VRIDS; i++) passed = passed || ((struct repeated *)handle.own)->deadline[i] <= monotonic;
  require(due == passed);
  if (!was_deferred) return due ? drain() : (void)0;
  const bool has_news = check_records(0, waiting < BATCH && error == 0);
  require(reported == (has_news || error != 0) && (!reported || !handle.deferred) && (!due || !handle.deferred));
  if (!has_news) forget_batch();
  if (due) drain();
}

/* ---- inputs ---- */

static void watch_again(unsigned vrid, const struct sent *packet) {
  struct repeated *const own = handle.own;
  struct watch *const watch = &own->watch[vrid];
  const bool v4 = packet->bytes[SIZE] == 4;
  struct sockaddr_in source4 = {.sin_family = AF_INET};
  struct sockaddr_in6 source6 = {.sin6_family = AF_INET6};
  source4.sin_addr.s_addr = packet->from;
  source6.sin6_addr.s6_addr[15] = packet->from;
  change_watches(&handle);
  memset(watch, 0, sizeof *watch);
  memcpy(watch->bytes, packet->bytes, packet->length);
  watch->length = packet->length;
  watch->source_length = v4 ? sizeof source4 : sizeof source6;
  memcpy(watch->source, v4 ? (void *)&source4 : (void *)&source6, watch->source_length);
  watch->destination[0] = packet->to;
  watch->ttl = packet->ttl;
  watch->heard_at = monotonic;
  watch->until = monotonic + 500;
  watch->within = 175;
  watch->delay = 360;
  watch->bounds = 2;
  watch->bound[0] = 90;
  watch->bound[1] = 110;
  own->deadline[vrid] = watch->heard_at + watch->delay;
  if (own->deadline[vrid] < own->timer_at) set_deadline_timer(handle.partner, own, own->deadline[vrid]);
  models[vrid] = (struct model){.last = *packet, .heard_at = monotonic, .until = watch->until, .watched = true};
}

static void enqueue(const struct sent *base, const uint8_t *change) {
  if (queued == QUEUE) return;
  struct sent *const packet = &queue[queued++];
  *packet = *base;
  packet->at = realtime;
  packet->came_at = monotonic;
  change_packet(packet, change);
  packet->is_dated = packet->at == realtime;
  filter_news(packet);
}

static void start(const uint8_t *data, struct sent *base) {
  const bool v4 = data[0] % 2 == 0;
  memset(models, 0, sizeof models);
  memset(&handle, 0, sizeof handle);
  queued = calm = 0;
  failure = 0;
  known_drops = 0;
  forget_batch();
  monotonic = 1000;
  realtime = 50000;
  mark_empty(0);
  for (unsigned vrid = 0; vrid < VRIDS; vrid++) {
    memset(&base[vrid], 0, sizeof *base);
    base[vrid].length = (v4 ? 22u : 2u) + data[1] % 20u;
    base[vrid].bytes[0] = v4 ? 0x45 : 0x31;
    base[vrid].bytes[v4 ? 21 : 1] = (unsigned char)vrid;
    base[vrid].bytes[SIZE] = v4 ? 4 : 6;
    base[vrid].ttl = 255;
    base[vrid].from = 7;
    base[vrid].to = 18;
    write_header(&base[vrid]);
  }
  handle = (struct handle){.fd = 3, .batch = BATCH, .size = SIZE, .used = BATCH, .is_news = has_news};
  handle.meta = (napi_ref)(void *)meta;
  handle.data = (napi_ref)(void *)bytes;
  handle.messages = calloc(BATCH, sizeof *handle.messages);
  handle.vectors = calloc(BATCH, sizeof *handle.vectors);
  handle.names = calloc(BATCH, sizeof *handle.names);
  handle.control = calloc(BATCH, CONTROL_SIZE);
  static struct repeated *own; /* half a MiB: allocated once */
  if (own == NULL) own = calloc(1, sizeof *own);
  require(handle.messages != NULL && handle.vectors != NULL && handle.names != NULL && handle.control != NULL);
  require(own != NULL);
  own->timer_at = INFINITY;
  own->offset = realtime - monotonic;
  own->empty_at = 0;
  own->overflow = 0;
  own->calm = 0;
  own->calm_wanted = CALM_LEAST;
  own->is_empty = own->is_refused = false;
  memset(own->watch, 0, VRIDS * sizeof *own->watch);
  for (unsigned i = 0; i < NUMBERS; i++) own->deadline[i] = INFINITY;
  handle.own = own;
  timer = (struct handle){.fd = 4, .is_timer = true, .partner = &handle};
  handle.partner = &timer;
  news_socket = (struct handle){.fd = 5};
  news_queued = 0;
  polled = true;
  reported = false;
  before_batch = end_batch;
  use_news_socket(&handle, &news_socket);
}

static void finish(void) {
  free(handle.messages);
  free(handle.vectors);
  free(handle.names);
  free(handle.control);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int errors[] = {0, ENETDOWN, ENOBUFS, ENOMEM};
  struct sent base[VRIDS];
  if (size < 2) return 0;
  if (meta == NULL) meta = malloc(BATCH * META_SIZE);
  if (bytes == NULL) bytes = malloc(BATCH * SIZE);
  require(meta != NULL && bytes != NULL);
  start(data, base);
  for (size_t at = 2; size - at >= 4; at += 4) {
    const uint8_t *const step = data + at;
    monotonic += step[3];
    realtime += step[3];
    if (step[0] % 8 < 3) enqueue(&base[step[0] / 8 % VRIDS], step);
    if (step[0] % 8 == 3) watch_again(step[0] / 8 % VRIDS, &base[step[0] / 8 % VRIDS]);
    if (step[0] % 8 == 4 && step[0] / 8 % 4 < 2) look();
    if (step[0] % 8 == 4 && step[0] / 8 % 4 == 2) fire();
    if (step[0] % 8 == 4 && step[0] / 8 % 4 == 3) hear();
    if (step[0] % 8 == 5) receive();
    if (step[0] % 8 == 6) move_clock(step[1], step[2] % 2 == 1);
    if (step[0] % 8 == 7 && waiting == 0 && handle.held_error == 0) failure = errors[step[1] % 4];
    check_deferral();
  }
  finish();
  return 0;
}
