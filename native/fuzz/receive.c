/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the addon's reading of packets, and its comparison of a packet with the last one, with libFuzzer and
 * sanitizers. The subjects are addon/receive.c, repetition.c and metadata.c. recvmmsg() and the clocks are replaced
 * (fuzz/build.sh). Their queue has packets that are mutations of the watched one. A second reader, written for this file, says
 * which packet is a repetition. Each packet must be noted or delivered, once and in the order of the queue. No part of
 * Node is linked.
 *
 * An input: byte 0 chooses the family, byte 1 the length of the watched packet. Then operations of four bytes follow:
 * what happens, the place and the bits of a change, and the time that passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
static double known_offset, empty_at;
static bool news[256];

static double time_of(const struct sent *packet) {
  const double offset = realtime - monotonic;
  const double at = packet->at - offset;
  if (packet->at == 0 || fabs(offset - known_offset) > 1 || at < empty_at || at > monotonic) return monotonic;
  return at;
}

static bool is_like(const struct sent *one, const struct sent *other) {
  if (one->length != other->length || one->length > SIZE || one->ttl != other->ttl) return false;
  if (one->from != other->from || one->to != other->to) return false;
  for (size_t i = 0; i < one->length; i++) {
    unsigned char compared = 0xff;
    if (one->bytes[SIZE] == 4) {
      if (i == 1 || i == 4 || i == 5 || i == 10 || i == 11) compared = 0;
      if (i == 6) compared = 0xbf;
    }
    if (((one->bytes[i] ^ other->bytes[i]) & compared) != 0) return false;
  }
  return one->bytes[SIZE] != 4 || (one->bytes[0] == 0x45 && (one->bytes[6] & 0xbf) == 0 && one->bytes[7] == 0);
}

/* Returns the VRID of a packet, or -1. */
static int vrid_of(const struct sent *packet) {
  const size_t length = packet->length < SIZE ? packet->length : SIZE;
  if (length == 0) return -1;
  const size_t at = (packet->bytes[SIZE] == 4 ? (packet->bytes[0] & 15u) * 4u : 0) + 1;
  return at < length ? packet->bytes[at] : -1;
}

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
  known_offset = realtime - monotonic;
  if (emptied) empty_at = monotonic;
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
  require(own->timer_at <= nearest); /* a timer that is too late is a takeover that is too late */
  return has_other;
}

static void forget_batch(void) {
  waiting = 0;
  memset(news, 0, sizeof news);
}

/* The event loop finds the socket readable. */
static void look(void) {
  const unsigned held = waiting;
  const int error = failure;
  const bool unread = held != 0 || handle.held_error != 0;
  const bool said = has_news(&handle);
  if (unread && waiting == held) return require(said);
  const bool expected = check_records(0, waiting < BATCH && (error == 0 || error == EAGAIN));
  if (error != 0) return require(said == (unread || error != EAGAIN));
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
  if (held < BATCH) (void)check_records(held, waiting < BATCH && (error == 0 || error == EAGAIN));
  require(count == (int)waiting || (held == 0 && count == -error));
  forget_batch();
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
  const unsigned place = change[1];
  if (change[2] == 0) return; /* unchanged */
  if (place < packet->length) packet->bytes[place] ^= change[2];
  if (place == 200) packet->ttl = change[2];
  if (place == 201) packet->from = change[2];
  if (place == 202) packet->to = change[2];
  if (place == 203) packet->drops = change[2];
  if (place == 204) packet->length = change[2] % (SIZE + 8);
  if (place == 205) packet->at = 0;
  if (place == 206) packet->at -= change[2];
  if (place == 207) packet->at += change[2];
}

static void start(const uint8_t *data, struct sent *base) {
  const bool v4 = data[0] % 2 == 0;
  memset(models, 0, sizeof models);
  memset(&handle, 0, sizeof handle);
  queued = failure = 0;
  known_drops = 0;
  forget_batch();
  monotonic = 1000;
  realtime = 50000;
  known_offset = realtime - monotonic;
  empty_at = 0;
  for (unsigned vrid = 0; vrid < VRIDS; vrid++) {
    memset(&base[vrid], 0, sizeof *base);
    base[vrid].length = (v4 ? 22u : 2u) + data[1] % 20u;
    base[vrid].bytes[0] = v4 ? 0x45 : 0x31;
    base[vrid].bytes[v4 ? 21 : 1] = (unsigned char)vrid;
    base[vrid].bytes[SIZE] = v4 ? 4 : 6;
    base[vrid].ttl = 255;
    base[vrid].from = 7;
    base[vrid].to = 18;
  }
  handle = (struct handle){.fd = -1, .batch = BATCH, .size = SIZE, .used = BATCH, .is_news = has_news};
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
  own->offset = known_offset;
  own->empty_at = 0;
  own->overflow = 0;
  memset(own->watch, 0, VRIDS * sizeof *own->watch);
  for (unsigned i = 0; i < NUMBERS; i++) own->deadline[i] = INFINITY;
  handle.own = own;
}

static void finish(void) {
  free(handle.messages);
  free(handle.vectors);
  free(handle.names);
  free(handle.control);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int errors[] = {EAGAIN, ENETDOWN, ENOBUFS, ENOMEM};
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
    if (step[0] % 8 == 4) look();
    if (step[0] % 8 == 5) receive();
    if (step[0] % 8 == 6) realtime += step[1];
    if (step[0] % 8 == 7 && waiting == 0 && handle.held_error == 0) failure = errors[step[1] % 4];
  }
  finish();
  return 0;
}
