/* SPDX-License-Identifier: Apache-2.0 */
/* See order.h. */
#include "order.h"

#include <stdlib.h>

#include "../../common/guardian-words.h"
#include "../message.h"
#include "../now.h"
#include "../plan.h"

#define PERIOD_MIN (1 * NS_PER_MS)
#define PERIOD_MAX (3600 * NS_PER_S)
#define TIME_MAX (UINT64_MAX / 4) /* a sum of times does not wrap */
#define FRAME_SIZE 8u /* octets of the record that stands before each frame */
#define FRAME_MIN 14u /* the Ethernet header */

/* Returns NULL and moves `at` behind the record there, or returns its defect. */
static const char *check_record(const unsigned char *bytes, size_t size, size_t *at, unsigned char family) {
  if (size - *at < FRAME_SIZE) return "a record is cut";
  const unsigned char *const record = bytes + *at;
  if (record[1] != 0 || u16_at(record + 2) == 0) return "a record is sent with no round";
  if (record[0] == RECORD_PACKET) {
    if (record[RECORD_SIZE] != family) return "a packet is of another family than its order";
    *at += RECORD_SIZE;
    return check_packet(bytes, size, at);
  }
  if (record[0] != RECORD_FRAME) return "a record is neither packet nor frame";
  const uint32_t length = u32_at(record + RECORD_SIZE);
  if (length < FRAME_MIN) return "a frame is shorter than its header";
  const size_t room = padded_size(length, size - *at - FRAME_SIZE);
  if (room == 0) return "a frame reaches past the message";
  *at += FRAME_SIZE + room;
  return NULL;
}

static const char *check_records(const unsigned char *bytes, size_t size, uint32_t records, unsigned char family) {
  bool speaks = false;
  size_t at = ORDER_SIZE;
  for (uint32_t i = 0; i < records; i++) {
    const unsigned char *const record = bytes + at;
    const char *const fault = check_record(bytes, size, &at, family);
    if (fault != NULL) return fault;
    speaks = speaks || (record[0] == RECORD_PACKET && u16_at(record + 2) == 1);
  }
  if (at != size) return "bytes are left over";
  return speaks ? NULL : "no packet is sent with each round";
}

/* Checks the fields before the records. */
static const char *check_head(const unsigned char *bytes, size_t size) {
  if (size < ORDER_SIZE) return "it is shorter than its header";
  if (u32_at(bytes + 8) != 0 || u16_at(bytes + 26) != 0) return "a zero is missing";
  if (u32_at(bytes + 12) == 0 || u32_at(bytes + 12) > WORD_GENERATIONS) return "its generation is out of range";
  if (u32_at(bytes + 16) >= UNITS) return "its unit is out of range";
  if (u32_at(bytes + 20) == 0 || u32_at(bytes + 20) > INT32_MAX) return "its interface is out of range";
  if (bytes[24] != 4 && bytes[24] != 6) return "its family is neither 4 nor 6";
  if (u64_at(bytes + 28) < PERIOD_MIN || u64_at(bytes + 28) > PERIOD_MAX) return "its period is out of range";
  if (u64_at(bytes + 36) > TIME_MAX) return "its first round is out of range";
  return u64_at(bytes + 44) > u64_at(bytes + 28) ? "its advance is longer than its period" : NULL;
}

static void read_head(struct order *order, const unsigned char *bytes) {
  order->generation = u32_at(bytes + 12);
  order->unit = (uint16_t)u32_at(bytes + 16);
  order->interface = u32_at(bytes + 20);
  order->family = bytes[24];
  order->vrid = bytes[25];
  order->period = u64_at(bytes + 28);
  order->planned = order->wake_at = u64_at(bytes + 36);
  order->advance = u64_at(bytes + 44);
  memcpy(order->source, bytes + 52, sizeof order->source);
  order->records = u32_at(bytes + 4);
}

static const char *check_order(const unsigned char *bytes, size_t size) {
  if (u16_at(bytes + 2) >= CLOCK_SLOTS) return "its slot is out of range";
  if (bytes[1] == KIND_FORGET)
    return size == HEADER_SIZE && u32_at(bytes + 4) == 0 && u32_at(bytes + 8) == 0 ? NULL
                                                                                   : "bytes follow where none belong";
  const char *const fault = check_head(bytes, size);
  return fault != NULL ? fault : check_records(bytes, size, u32_at(bytes + 4), bytes[24]);
}

const char *make_order(const unsigned char *bytes, size_t size, struct order **order) {
  const char *const fault = check_order(bytes, size);
  if (fault != NULL) return fault;
  struct order *const made = malloc(sizeof *made + size);
  if (made == NULL) return "no memory to keep it";
  memset(made, 0, sizeof *made);
  made->slot = u16_at(bytes + 2);
  made->forgets = bytes[1] == KIND_FORGET;
  if (!made->forgets) read_head(made, bytes);
  made->size = size;
  memcpy(made->bytes, bytes, size);
  *order = made;
  return NULL;
}

size_t after_record(const struct order *order, size_t at) {
  const bool packet = order->bytes[at] == RECORD_PACKET;
  const size_t head = packet ? RECORD_SIZE + PACKET_SIZE : FRAME_SIZE;
  const uint32_t length = u32_at(order->bytes + at + head - 4);
  return at + head + padded_size(length, order->size - at - head);
}
