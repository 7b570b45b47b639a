/* SPDX-License-Identifier: Apache-2.0 */
/* See round.h. */
#include "round.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

#include "../message.h"
#include "../now.h"
#include "../packet.h"
#include "cover.h"
#include "lease.h"
#include "mail.h"
#include "news.h"
#include "orphans.h"
#include "slot.h"
#include "sockets.h"
#include "suspend.h"
#include "table.h"

#define RETRY (1 * NS_PER_MS)
#define ADVANCE_PARTS 50u /* parts of a period; a round comes earlier by one part at most */
#define HELD_PARTS 2u /* news holds a round for half a period; then the engine advertises itself */
#define LATE_PERIODS 2u /* since the last frame: the round is later than one interval */

enum sending { SENT, BLOCKED, FAILED, WITHDRAWN };

/* ---- sending ---- */

/* Returns 0 or errno. */
static int send_frame(const struct order *order, const unsigned char *record) {
  const uint32_t length = u32_at(record + RECORD_SIZE);
  const unsigned char *const frame = record + RECORD_SIZE + 4;
  struct sockaddr_ll to;
  memset(&to, 0, sizeof to);
  to.sll_family = AF_PACKET;
  to.sll_ifindex = (int)order->interface;
  memcpy(&to.sll_protocol, frame + 12, sizeof to.sll_protocol);
  while (sendto(frame_socket(), frame, length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof to) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

/* Returns false if run_round() would not send: a word was withdrawn, or too much time has passed. */
static bool may_send(const struct order *order) {
  const uint64_t now = now_ns();
  return is_slot_armed(order) && is_plan_armed(order) && !was_suspended() && !is_lease_over(order, now) &&
         now < last_sent_at(order) + LATE_PERIODS * order->period;
}

/*
 * A round counts as sent if one of its packets was sent. The kernel may take the CPU from the thread after each system
 * call, so the words and the times are read before each of them.
 */
static enum sending send_records(const struct order *order) {
  /* With the slot's number, rare records of many slots leave in different rounds. */
  const uint64_t number = __atomic_load_n(&slot_of(order)->sent, __ATOMIC_SEQ_CST) + order->slot;
  enum sending result = FAILED;
  size_t at = ORDER_SIZE;
  for (uint32_t i = 0; i < order->records; i++, at = after_record(order, at)) {
    const unsigned char *const record = order->bytes + at;
    const bool packet = record[0] == RECORD_PACKET;
    if (number % u16_at(record + 2) != 0) continue;
    if (!may_send(order)) return result == SENT ? SENT : WITHDRAWN;
    const int error =
        packet ? try_packet(raw_socket_of(order->family), record + RECORD_SIZE) : send_frame(order, record);
    if (error != 0) record_failure(order);
    if (!packet || result == SENT) continue;
    if (error == 0) result = SENT;
    if (error == ENOBUFS || error == EAGAIN) result = BLOCKED;
  }
  return result;
}

/* ---- one round ---- */

/*
 * The next round keeps its time. Rounds that are missed meanwhile are left out. An order with an advance comes a little
 * earlier until it has company, because rounds of the same time share a wake-up. Not after a late round: the gap to the
 * next one is short already.
 */
static void plan_next(struct order *order, uint64_t now) {
  const uint64_t late = now - order->planned, most = order->period / ADVANCE_PARTS;
  const uint64_t step = late > most ? 0 : order->advance < most ? order->advance : most;
  order->advance -= step;
  order->planned += (late / order->period + 1) * order->period - step;
  plan_round(order, order->planned);
}

static void finish_stopped(struct order *order) {
  stop_slot(order);
  cancel_round(order);
  fire_cover();
  wake_executor();
}

/* Sends the frames of a claimed slot, and frees it. */
static void speak(struct order *order) {
  const uint64_t now = now_ns();
  const enum sending sending = send_records(order);
  if (sending == FAILED) return finish_stopped(order);
  if (sending == SENT) {
    record_round(order, now, now - order->planned);
    renew_deadline(order);
  }
  free_slot(order);
  if (sending == WITHDRAWN) return plan_round(order, now); /* that round finds out why */
  if (sending == BLOCKED) return plan_round(order, now + RETRY);
  note_frame(order, now);
  plan_next(order, now);
}

/* A withdrawn order keeps its place in the table, for the news. */
static void leave(struct order *order) {
  cancel_round(order);
  change_cover();
}

/*
 * The words and the times are read after BUSY is set, directly before the frames are sent. A check before BUSY lets a
 * thread that stood still send frames that the engine has withdrawn (docs/adr/0085). The caller handles a suspension and
 * the end of the lease for all slots together.
 */
void run_round(struct order *order, uint64_t begun) {
  read_fresh_news(order->family, begun);
  if (!claim_slot(order)) return leave(order);
  const uint64_t now = now_ns();
  const uint64_t sent_at = last_sent_at(order);
  if (!is_slot_armed(order)) {
    free_slot(order);
    return leave(order);
  }
  if (was_suspended() || is_lease_over(order, now)) return free_slot(order);
  if (!is_plan_armed(order) || now >= sent_at + LATE_PERIODS * order->period) return finish_stopped(order);
  if (!is_unread(order)) return speak(order);
  if (are_orphans()) {
    advance_deadline(order, now);
    return finish_stopped(order);
  }
  if (now >= order->planned + order->period / HELD_PARTS) return finish_stopped(order);
  free_slot(order);
  plan_round(order, now + RETRY);
}

void stop_rounds(struct order *order, uint64_t at) {
  if (!claim_slot(order)) return leave(order);
  advance_deadline(order, at);
  finish_stopped(order);
}
