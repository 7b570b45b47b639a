/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the guardian's readers with libFuzzer and AddressSanitizer: messages of an engine that sends any bytes, and
 * ACKs of a kernel that does. Stored plans are also renewed and executed, into sockets that do not exist, because only
 * that uses every length of a plan. Each message lies in memory of exactly its size, so that reading one byte too many
 * is noticed. If the input says so, the engine dies at the end. The record of its last snapshot decides whether its
 * addresses wait for the next engine. In this fuzzer the next engine does not start, or comes too late, or has adopted
 * something else.
 *
 * An input: if byte 0 is even, messages follow. Every message stands after two bytes of its length (little endian),
 * whose top bit says that the word of the plan, or of the slot, is armed. After them the engine dies if byte 0 is 2
 * modulo 4. If byte 0 is 1 modulo 4, one datagram of ACKs follows, after a count and a first sequence number. If it is
 * 3 modulo 4, a packet of another router follows.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../guardian/channel.h"
#include "../guardian/clock/mail.h"
#include "../guardian/clock/orphans.h"
#include "../guardian/clock/sender.h"
#include "../guardian/clock/table.h"
#include "../guardian/clock/thread.h"
#include "../guardian/clock/units.h"
#include "../guardian/execute.h"
#include "../guardian/message.h"
#include "../guardian/netlink.h"
#include "../guardian/now.h"
#include "../guardian/plan.h"
#include "../guardian/renew.h"
#include "../guardian/words.h"

/* The harness resets what these two files know, so they are compiled here. */
#include "../guardian/clock/membership.c"
#include "../guardian/restart.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNUSED_DESCRIPTOR 1000000
#define ENGINE 1000000 /* the process id of the engine */

static void require(bool holds) {
  if (!holds) abort();
}

/*
 * Replace poll(), ppoll() and others (fuzz/build.sh): no descriptor is ever ready, so no line is written and nothing waits.
 */
int fuzz_poll(struct pollfd *fds, nfds_t count, int limit) {
  (void)fds, (void)count, (void)limit;
  return 0;
}
/*
 * Gives the clock a socket for each membership. The options of this socket are accepted, and the socket is not used for
 * any other purpose.
 */
int fuzz_socket(int family, int type, int protocol) {
  (void)family, (void)protocol;
  return (type & 0xf) == SOCK_DGRAM ? UNUSED_DESCRIPTOR : -1;
}
int fuzz_setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
  (void)level, (void)name, (void)value, (void)size;
  return fd == UNUSED_DESCRIPTOR ? 0 : -1;
}
/* The dead engine has no process, and the next one does not start. */
int fuzz_kill(pid_t pid, int number) {
  require(pid == ENGINE && number == SIGKILL);
  return 0;
}
bool has_starter(void) {
  return true;
}
void note_end(pid_t pid) {
  (void)pid;
}
pid_t start_by_starter(int channel, int report, int snapshot) {
  (void)channel, (void)report, (void)snapshot;
  return -1;
}
pid_t rehearse_by_starter(int output, int snapshot) {
  (void)output, (void)snapshot;
  return -1;
}
int fuzz_socketpair(int family, int type, int protocol, int *pair) {
  (void)family, (void)type, (void)protocol, (void)pair;
  return -1;
}

int fuzz_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
  (void)fds, (void)count, (void)limit, (void)mask;
  return 0;
}

static unsigned char *copy_of(const uint8_t *data, size_t size) {
  unsigned char *const copy = malloc(size == 0 ? 1 : size);
  require(copy != NULL);
  memcpy(copy, data, size);
  return copy;
}

/* Checks that list and table agree, and that every plan is still as it was checked. */
static void check_plans(void) {
  size_t count = 0;
  const struct plan *before = NULL;
  for (const struct plan *plan = plans.first; plan != NULL; before = plan, plan = plan->next) {
    const uint64_t requests = (uint64_t)plan->requests + plan->renewals;
    require(plan->previous == before && plans.of_unit[plan->unit] == plan && ++count <= UNITS);
    require(check_plan(plan->bytes, plan->size, plan->body, requests, plan->packets) == NULL);
    require(plan->part == SKIP);
  }
  require(plans.last == before);
}

static void arm_word(const unsigned char *message) {
  const struct plan *const plan = plans.of_unit[u16_at(message + 2)];
  require(plan != NULL && plan->guarded);
  words->unit[plan->unit].word = plan->generation << WORD_GENERATION | WORD_ARMED;
  words->unit[plan->unit].deadline = 1;
}

/* Arms the slot of an accepted order, so that its frames are sent if its first round has come. */
static void arm_slot(const unsigned char *message) {
  struct clock_slot *const slot = &words->slot[u16_at(message + 2)];
  slot->word = u32_at(message + 12) << WORD_GENERATION | WORD_ARMED;
  slot->sent_at = now_ns();
  words->unit[u32_at(message + 16)].word |= WORD_ARMED;
  words->proof_at = UINT64_MAX / 2;
}

static void check_order_list(void) {
  size_t count = 0;
  for (const struct order *order = orders; order != NULL; order = order->next) {
    require(order_of(order->slot) == order && ++count <= CLOCK_SLOTS);
    size_t at = ORDER_SIZE;
    for (uint32_t i = 0; i < order->records; i++) at = after_record(order, at);
    require(at == order->size);
  }
  require(next_round() == NULL || order_of(next_round()->slot) == next_round());
}

static void forget_orders(void) {
  while (orders != NULL) {
    struct order *const order = orders;
    memset(&words->slot[order->slot], 0, sizeof words->slot[0]);
    words->unit[order->unit].word = 0;
    remove_order(order);
    return_order(order);
  }
  require(next_round() == NULL);
  free_returned_orders();
}

static void store_messages(struct engine *engine, const uint8_t *data, size_t size) {
  for (size_t at = 0; size - at >= 2;) {
    const bool armed = (data[at + 1] & 0x80) != 0;
    size_t length = data[at] | (size_t)(data[at + 1] & 0x7f) << 8;
    at += 2;
    if (length > size - at) length = size - at;
    unsigned char *const message = copy_of(data + at, length);
    const char *const fault = handle_message(engine, message, length);
    if (fault == NULL && message[1] == KIND_READY) require(engine->ready);
    if (fault != NULL) require(fault[0] != '\0');
    if (fault == NULL && armed && message[1] == KIND_GUARD) arm_word(message);
    if (fault == NULL && armed && message[1] == KIND_CLOCK) arm_slot(message);
    if (fault == NULL && message[1] == KIND_CLOCK) turn_clock();
    free(message);
    check_plans();
    check_order_list();
    at += length;
  }
}

/*
 * The engine dies. Addresses wait only if each slot of the record is armed in its generation and each plan is kept. In
 * the end the plans of the dead engine are gone, whatever the next engine does.
 */
static void run_restart(struct engine *engine, const struct options *options, unsigned end) {
  const bool recorded = snapshot != NULL;
  sigset_t mask;
  sigemptyset(&mask);
  engine->pid = ENGINE;
  engine->status = SIGKILL;
  const bool waits = begin_restart(engine);
  require(waits == engine->waits && (recorded || !waits));
  if (!waits) return;
  for (const struct plan *plan = plans.first; plan != NULL; plan = plan->next) require(plan->inherited);
  turn_clock();
  engine->pid = 0;
  if (end == 0) require(!restart_engine(options, &mask, engine) && engine->gone && snapshot_fd == -1);
  if (end == 1) engine->settled = true;
  if (end == 2) ends_at = 1; /* long ago */
  if (end == 3) end_restart(engine, "a fuzzer");
  follow_restart(engine);
  require(!engine->waits && restart_ends_at(engine) == UINT64_MAX);
  for (const struct plan *plan = plans.first; plan != NULL; plan = plan->next) require(plan->overtaken);
  turn_clock();
  require(!are_orphans());
}

static void run_messages(const uint8_t *data, size_t size, bool dies) {
  static const char *program[] = {"engine", NULL};
  const struct options options = {.program = (char **)program};
  struct engine engine = {.channel = -1, .pidfd = -1, .report = -1};
  store_messages(&engine, data, size);
  if (dies) run_restart(&engine, &options, size == 0 ? 0 : data[size - 1] % 4);
  renew_addresses(UINT64_MAX / 2);
  for (struct plan *plan = plans.first; plan != NULL; plan = plan->next) {
    if (plan->guarded && !mark_executed(plan)) continue;
    plan->part = plan->unit % 2 == 0 ? EVERYTHING : ADDRESSES_ONLY;
  }
  turn_clock();
  execute_plans(0, "a fuzzer");
  check_plans();
  turn_clock();
  check_order_list();
  forget_orders();
  while (plans.first != NULL) {
    memset(&words->unit[plans.first->unit], 0, sizeof words->unit[0]);
    remove_plan(plans.first->unit);
  }
  forget_snapshot();
  restarted_at = 0;
  count = 0;
  failed = false;
}

static void run_acks(const uint8_t *data, size_t size) {
  static struct outcome outcome;
  static struct batch batch;
  if (size < 2) return;
  begin_outcome(&outcome, 0);
  memset(&batch, 0, sizeof batch);
  batch.count = data[0] % (BATCH_REQUESTS + 1);
  batch.first = (uint32_t)data[1] - 8; /* around 0, where sequence numbers wrap */
  unsigned char *const bytes = copy_of(data + 2, size - 2);
  const int taken = read_acks(&outcome, &batch, bytes, size - 2);
  require(taken >= 0 && taken <= batch.count);
  require((unsigned)taken == outcome.done + outcome.absent + outcome.failed);
  require(outcome.errors_length < sizeof outcome.errors);
  free(bytes);
}

/* A packet of the LAN. The length of a packet may be greater than what was read of it. */
static void run_packet(const uint8_t *data, size_t size) {
  struct sender sender = {.family = 4};
  const struct sockaddr_in6 name = {.sin6_family = AF_INET6};
  if (size < 2) return;
  if ((data[0] & 1) != 0) sender.family = 6;
  const size_t length = size - 2 + data[1];
  unsigned char *const bytes = copy_of(data + 2, size - 2 < SENDER_MAX ? size - 2 : SENDER_MAX);
  if (length <= SENDER_MAX ? length == size - 2 : size - 2 >= SENDER_MAX) {
    const bool named = read_packet(bytes, length, &name, &sender);
    require(!named || length >= 2);
  }
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (words == NULL) {
    words = calloc(1, sizeof *words);
    require(words != NULL);
    clock_runs = true;
  }
  if (size == 0) return 0;
  if (data[0] % 4 == 3)
    run_packet(data + 1, size - 1);
  else if (data[0] % 2 == 0)
    run_messages(data + 1, size - 1, data[0] % 4 == 2);
  else
    run_acks(data + 1, size - 1);
  return 0;
}
