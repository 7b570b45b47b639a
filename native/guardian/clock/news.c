/* SPDX-License-Identifier: Apache-2.0 */
/* See news.h. */
#define _GNU_SOURCE
#include "news.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "../now.h"
#include "../words.h"
#include "lease.h"
#include "mail.h"
#include "sender.h"
#include "slot.h"
#include "sockets.h"
#include "table.h"

#define BATCH 32
#define BATCHES_MAX 32 /* a flood must not keep the rounds waiting */
#define STALE (1 * NS_PER_S) /* an order without rounds is forgotten if news comes later than that */
#define RECENT (NS_PER_MS / 2) /* an empty socket is not read again within this time */

struct room {
  unsigned char bytes[SENDER_MAX];
  struct sockaddr_in6 name;
  union {
    struct cmsghdr align;
    unsigned char bytes[128];
  } control;
};

static struct room rooms[BATCH];
static struct mmsghdr messages[BATCH];
static struct iovec vectors[BATCH];
static uint32_t dropped[2]; /* number of packets that the kernel has dropped, for each family */
static uint64_t empty_at[2]; /* last time at which the socket of each family was empty */

static unsigned index_of(uint8_t family) {
  return family == 4 ? 0 : 1;
}

/* ---- what is news ---- */

/* Records news for all slots of the unit, once a drain. */
static void note_unit(struct order *order, uint64_t now) {
  bool planned = false;
  if (order->noted == now) return;
  for (struct order *each = orders_of_unit(order->unit); each != NULL; each = each->next_of_unit) {
    if (each->unit != order->unit) continue;
    __atomic_store_n(&slot_of(each)->news_at, now, __ATOMIC_SEQ_CST);
    each->noted = now;
    planned = planned || each->place != 0;
  }
  if (planned) expect_proof(now);
}

/* An order that is out of use would let each packet of a new Active wake the clock thread. */
static bool is_stale(const struct order *order, uint64_t now) {
  return order->place == 0 && !is_slot_armed(order) && now > order->planned && now - order->planned > STALE;
}

static void note_sender(const struct sender *sender, uint64_t now) {
  struct order *next;
  for (struct order *order = orders_of_key(sender->interface, sender->family, sender->vrid); order != NULL; order = next) {
    next = order->next_of_key;
    if (order->interface != sender->interface || order->family != sender->family || order->vrid != sender->vrid ||
        memcmp(order->source, sender->source, sender->family == 4 ? 4 : sizeof sender->source) == 0)
      continue;
    note_unit(order, now);
    if (!is_stale(order, now)) continue;
    remove_order(order);
    return_order(order);
  }
}

/* ---- reading ---- */

/* The content of a dropped packet is not known, so the packet is news for every slot of the family. */
static void note_drops(uint8_t family, uint32_t drops, uint64_t now) {
  uint32_t *const known = &dropped[index_of(family)];
  if (drops == 0 || drops == *known) return;
  *known = drops;
  for (struct order *order = orders; order != NULL; order = order->next)
    if (order->family == family) note_unit(order, now);
}

static int receive(int fd) {
  for (int i = 0; i < BATCH; i++) {
    vectors[i] = (struct iovec){rooms[i].bytes, sizeof rooms[i].bytes};
    messages[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &rooms[i].name,
                                               .msg_namelen = sizeof rooms[i].name,
                                               .msg_iov = &vectors[i],
                                               .msg_iovlen = 1,
                                               .msg_control = &rooms[i].control,
                                               .msg_controllen = sizeof rooms[i].control}};
  }
  return recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
}

void note_no_news(uint64_t at) {
  empty_at[0] = empty_at[1] = at;
}

void read_fresh_news(uint8_t family, uint64_t now) {
  const uint64_t empty = empty_at[index_of(family)];
  if (now < empty || now - empty >= RECENT) read_news(family);
}

void read_news(uint8_t family) {
  const int fd = raw_socket_of(family);
  const uint64_t before = now_ns();
  int count = BATCH;
  for (int i = 0; i < BATCHES_MAX && count == BATCH && fd >= 0; i++) {
    count = receive(fd);
    const uint64_t now = now_ns();
    for (int each = 0; each < count; each++) {
      struct sender sender = {.family = family};
      note_drops(family, read_control(&messages[each].msg_hdr, &sender), now);
      if (read_packet(rooms[each].bytes, messages[each].msg_len, &rooms[each].name, &sender)) note_sender(&sender, now);
    }
  }
  /* After another error, packets may wait. */
  if (count < BATCH && (count >= 0 || errno == EAGAIN)) empty_at[index_of(family)] = before;
}
