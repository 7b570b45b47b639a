/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that does random things, as the program of a guardian: native/fuzz/threads.sh runs both in a network
 * namespace of their own. The random engine stores plans, arms and withdraws slots, and sends orders and records. The
 * random engine sends proofs or stands still, stops the whole process of the guardian for a moment, and lets another
 * router advertise on the LAN. In the end it dies. By these actions, the two threads of the guardian use everything
 * that they share. The guardian is the subject: what this file does need not make sense as VRRP.
 *
 * usage: engine END SEED CRASH   END: CLOCK_MONOTONIC in seconds; CRASH: mean time to a crash, in ms
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../common/guardian-words.h"
#include "../guardian/message.h"

#define ROUTERS 16u
#define MEMBERS 2u /* routers of a unit */
#define MS UINT64_C(1000000)
#define LOOPBACK 1u /* index of the only interface */

static struct guardian_words *words;
static int channel = -1, ask_fd = -1, lan = -1;
static uint32_t generation; /* the newest generation of all words */

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void pause_ms(unsigned ms) {
  const struct timespec pause = {ms / 1000, (long)(ms % 1000 * MS)};
  (void)nanosleep(&pause, NULL);
}

static unsigned choose(unsigned count) { return (unsigned)random() % count; }

/* ---- messages ---- */

struct text {
  unsigned char bytes[1024];
  size_t length;
};

static void put(struct text *text, const void *value, size_t size) {
  memcpy(text->bytes + text->length, value, size);
  text->length += size;
}
static void put_u16(struct text *text, uint16_t value) { put(text, &value, sizeof value); }
static void put_u32(struct text *text, uint32_t value) { put(text, &value, sizeof value); }
static void put_u64(struct text *text, uint64_t value) { put(text, &value, sizeof value); }

static void begin(struct text *text, unsigned char kind, uint16_t number, uint32_t requests, uint32_t packets) {
  const unsigned char head[2] = {FORMAT, kind};
  text->length = 0;
  put(text, head, sizeof head);
  put_u16(text, number);
  put_u32(text, requests);
  put_u32(text, packets);
}

static void put_ip(struct text *text, unsigned a, unsigned b, unsigned c, unsigned d) {
  const unsigned char bytes[16] = {(unsigned char)a, (unsigned char)b, (unsigned char)c, (unsigned char)d};
  put(text, bytes, sizeof bytes);
}

static void put_packet(struct text *text, unsigned router) {
  const unsigned char payload[8] = {0x31, (unsigned char)(router + 1), 100, 1, 0, 100, 0, 0};
  const unsigned char head[2] = {4, 255};
  put(text, head, sizeof head);
  put_u16(text, 0);
  put_u32(text, LOOPBACK);
  put_ip(text, 127, 0, 0, 1);
  put_ip(text, 224, 0, 0, 18);
  put_u32(text, sizeof payload);
  put(text, payload, sizeof payload);
}

/* Adds or removes 127.1.0.ROUTER. */
static void put_request(struct text *text, uint16_t type, unsigned router) {
  struct {
    struct nlmsghdr header;
    struct ifaddrmsg message;
    struct rtattr attribute;
    unsigned char address[4];
  } request = {.header = {.nlmsg_len = sizeof request, .nlmsg_type = type},
               .message = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = LOOPBACK},
               .attribute = {.rta_len = 8, .rta_type = IFA_LOCAL},
               .address = {127, 1, 0, (unsigned char)(router + 1)}};
  if (type == RTM_NEWADDR) request.header.nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE;
  put_u32(text, sizeof request);
  put(text, &request, sizeof request);
}

static void send_text(const struct text *text) {
  if (send(channel, text->bytes, text->length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EPIPE) _exit(3);
}

static void send_short(unsigned char kind, uint16_t number) {
  struct text text;
  begin(&text, kind, number, 0, 0);
  send_text(&text);
}

/* ---- words ---- */

static uint32_t *word_of_slot(unsigned slot) { return &words->slot[slot].word; }
static uint32_t load(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

static void withdraw(unsigned slot) {
  const uint64_t until = now_ns() + 5 * MS;
  (void)__atomic_and_fetch(word_of_slot(slot), ~WORD_ARMED, __ATOMIC_SEQ_CST);
  while ((load(word_of_slot(slot)) & WORD_BUSY) != 0 && now_ns() < until) continue;
}

static void guard(unsigned unit) {
  struct text text;
  if (++generation > WORD_GENERATIONS) generation = 1;
  __atomic_store_n(&words->unit[unit].deadline, now_ns() + (200 + choose(300)) * MS, __ATOMIC_SEQ_CST);
  __atomic_store_n(&words->unit[unit].word, generation << WORD_GENERATION | WORD_ARMED, __ATOMIC_SEQ_CST);
  begin(&text, KIND_GUARD, (uint16_t)unit, MEMBERS, MEMBERS);
  put_u32(&text, MEMBERS);
  put_u32(&text, choose(4) == 0 ? 0 : 50 + choose(100));
  put_u32(&text, generation);
  put_u32(&text, choose(2) * 200);
  for (unsigned i = 0; i < MEMBERS; i++) put_request(&text, RTM_DELADDR, unit * MEMBERS + i);
  for (unsigned i = 0; i < MEMBERS; i++) put_request(&text, RTM_NEWADDR, unit * MEMBERS + i);
  for (unsigned i = 0; i < MEMBERS; i++) put_packet(&text, unit * MEMBERS + i);
  send_text(&text);
}

static void order(unsigned slot, unsigned period_ms) {
  struct text text;
  if ((load(&words->unit[slot / MEMBERS].word) & WORD_ARMED) == 0) guard(slot / MEMBERS);
  if (++generation > WORD_GENERATIONS) generation = 1;
  withdraw(slot);
  __atomic_store_n(&words->slot[slot].sent_at, now_ns(), __ATOMIC_SEQ_CST);
  __atomic_store_n(word_of_slot(slot), generation << WORD_GENERATION | WORD_ARMED, __ATOMIC_SEQ_CST);
  begin(&text, KIND_CLOCK, (uint16_t)slot, 1, 0);
  put_u32(&text, generation);
  put_u32(&text, slot / MEMBERS);
  put_u32(&text, LOOPBACK);
  const unsigned char router[2] = {4, (unsigned char)(slot + 1)};
  put(&text, router, sizeof router);
  put_u16(&text, 0);
  put_u64(&text, period_ms * MS);
  put_u64(&text, now_ns() + choose(10) * MS);
  put_u64(&text, choose(2) * MS);
  put_ip(&text, 127, 0, 0, 1);
  const unsigned char record[4] = {RECORD_PACKET, 0, 1, 0};
  put(&text, record, sizeof record);
  put_packet(&text, slot);
  send_text(&text);
}

/* Hands over a record of all armed slots, or forbids a restart. */
static void record(void) {
  struct text text;
  uint32_t claims = 0;
  begin(&text, KIND_SNAPSHOT, 0, 0, 0);
  for (unsigned slot = 0; slot < ROUTERS; slot++) {
    const uint32_t word = load(word_of_slot(slot));
    if ((word & (WORD_ARMED | WORD_STOPPED)) != WORD_ARMED) continue;
    put_u32(&text, slot);
    put_u32(&text, word >> WORD_GENERATION);
    claims++;
  }
  memcpy(text.bytes + 4, &claims, sizeof claims);
  if (claims != 0) put(&text, "record", 6);
  send_text(&text);
}

static void prove(void) {
  uint64_t count;
  const uint64_t now = now_ns();
  const ssize_t length = read(ask_fd, &count, sizeof count);
  (void)length;
  __atomic_store_n(&words->engine_beat, now, __ATOMIC_SEQ_CST);
  __atomic_store_n(&words->proof_at, now, __ATOMIC_SEQ_CST);
  __atomic_store_n(&words->asked_at, 0, __ATOMIC_SEQ_CST);
}

/* An engine notices that its plan was executed, and holds nothing any longer. */
static void acknowledge(unsigned unit) {
  if ((load(&words->unit[unit].word) & WORD_EXECUTED) == 0) return;
  for (unsigned i = 0; i < MEMBERS; i++) withdraw(unit * MEMBERS + i);
  __atomic_store_n(&words->unit[unit].word, 0, __ATOMIC_SEQ_CST);
}

/* Brings each unit to rest: armed, with a clock for each router, or removed. Most crashes find it like this. */
static void rest(void) {
  for (unsigned unit = 0; unit < ROUTERS / MEMBERS; unit++) {
    acknowledge(unit);
    for (unsigned i = 0; i < MEMBERS; i++) order(unit * MEMBERS + i, 100);
  }
  pause_ms(5);
  prove();
  record();
}

/* ---- the LAN ---- */

static void open_lan(void) {
  lan = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 112);
  const struct ip_mreqn interface = {.imr_ifindex = LOOPBACK};
  struct sockaddr_in other = {.sin_family = AF_INET};
  other.sin_addr.s_addr = htonl(0x7f000002);
  (void)setsockopt(lan, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface);
  (void)bind(lan, (const struct sockaddr *)&other, sizeof other);
}

static void speak_as_another_router(unsigned vrid) {
  const unsigned char payload[8] = {0x31, (unsigned char)vrid, 100, 1, 0, 100, 0, 0};
  struct sockaddr_in group = {.sin_family = AF_INET};
  group.sin_addr.s_addr = htonl(0xe0000012);
  (void)sendto(lan, payload, sizeof payload, MSG_DONTWAIT, (const struct sockaddr *)&group, sizeof group);
}

static void stop_guardian(unsigned ms) {
  (void)kill(getppid(), SIGSTOP);
  pause_ms(ms);
  (void)kill(getppid(), SIGCONT);
}

/* ---- start ---- */

static void act(void) {
  const unsigned slot = choose(ROUTERS), unit = slot / MEMBERS;
  switch (choose(64)) {
    case 0: return pause_ms(choose(8) == 0 ? choose(900) : choose(20));
    case 1: return stop_guardian(choose(8) == 0 ? choose(100) : choose(8));
    case 2: return send_short(KIND_LOG, (uint16_t)choose(5));
    case 3: return send_short((unsigned char)choose(20), (uint16_t)unit);
    case 4: case 5: return send_short(KIND_FORGET, (uint16_t)slot);
    case 6: return send_short(KIND_REMOVE, (uint16_t)unit);
    case 7: return send_short(KIND_SETTLED, 0);
    case 8: case 9: case 10: return withdraw(slot);
    case 11: case 12: return speak_as_another_router(slot + 1);
    case 13: return (void)kill(getppid(), SIGHUP);
    case 14: case 15: case 16: case 17: return guard(unit);
    case 18: return send_short(KIND_LOOK, (uint16_t)unit);
    case 19: case 20: case 21: return record();
    case 22: case 23: case 24: case 25: case 26: case 27: case 28: case 29: return order(slot, 2 + choose(30));
    default: return acknowledge(unit);
  }
}

static int descriptor_of(const char *variable) {
  const char *const text = getenv(variable);
  return text == NULL ? -1 : atoi(text);
}

int main(int count, char **arguments) {
  if (count != 4) return 64;
  const uint64_t end = strtoull(arguments[1], NULL, 10) * 1000 * MS;
  const unsigned crash = (unsigned)atoi(arguments[3]);
  const int fd = descriptor_of(WORDS_VARIABLE);
  srandom((unsigned)atoi(arguments[2]) + (unsigned)getpid());
  (void)signal(SIGHUP, SIG_IGN);
  channel = descriptor_of(CHANNEL_VARIABLE);
  ask_fd = descriptor_of(CLOCK_VARIABLE);
  if (channel < 0 || fd < 0 || ask_fd < 0) return 1;
  words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (words == MAP_FAILED) return 1;
  for (unsigned slot = 0; slot < ROUTERS; slot++)
    if (load(word_of_slot(slot)) >> WORD_GENERATION > generation) generation = load(word_of_slot(slot)) >> WORD_GENERATION;
  open_lan();
  if (getenv(SNAPSHOT_VARIABLE) != NULL) {
    static const char text[] = "engine: started again\n";
    const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
  }
  send_short(KIND_READY, 0);
  while (now_ns() < end) {
    if (choose(20) != 0) prove();
    act();
    pause_ms(choose(3));
    if (choose(1 + crash) != 0) continue;
    if (choose(4) != 0) rest();
    pause_ms(choose(3));
    (void)kill(getpid(), SIGKILL);
  }
  return 0;
}
