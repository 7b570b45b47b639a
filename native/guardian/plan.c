/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, stores and forgets the cleanup plans of plan.h. */
#include "plan.h"

#include <linux/netlink.h>
#include <stdlib.h>

#include "now.h"
#include "message.h"
#include "words.h"

struct plans plans;

const char *check_packet(const unsigned char *bytes, size_t size, size_t *at) {
  if (size - *at < PACKET_SIZE) return "a packet is cut";
  if (bytes[*at] != 4 && bytes[*at] != 6) return "a packet's family is neither 4 nor 6";
  const size_t room = padded_size(u32_at(bytes + *at + 40), size - *at - PACKET_SIZE);
  if (room == 0) return "a packet reaches past the message";
  *at += PACKET_SIZE + room;
  return NULL;
}

const char *check_plan(const unsigned char *bytes, size_t size, size_t at, uint64_t requests, uint32_t packets) {
  for (uint64_t i = 0; i < requests; i++) {
    if (size - at < 4) return "a request is cut";
    const uint32_t length = u32_at(bytes + at);
    const size_t room = padded_size(length, size - at - 4);
    if (room == 0) return "a request reaches past the message";
    if (length < NLMSG_HDRLEN || u32_at(bytes + at + 4) != length) return "a request is no netlink message";
    at += 4 + room;
  }
  for (uint32_t i = 0; i < packets; i++) {
    const char *const fault = check_packet(bytes, size, &at);
    if (fault != NULL) return fault;
  }
  return at == size ? NULL : "bytes are left over";
}

size_t after_request(const struct plan *plan, size_t at) {
  return at + 4 + padded_size(u32_at(plan->bytes + at), plan->size - at - 4);
}

void remove_plan(uint16_t unit) {
  struct plan *plan = plans.of_unit[unit];
  if (plan == NULL) return;
  plans.of_unit[unit] = NULL;
  *(plan->previous != NULL ? &plan->previous->next : &plans.first) = plan->next;
  *(plan->next != NULL ? &plan->next->previous : &plans.last) = plan->previous;
  free(plan);
}

void forget_plans(void) {
  plans.first = plans.last = NULL;
  memset(plans.of_unit, 0, sizeof plans.of_unit);
}

/*
 * Returns when the plan's first renewal is due. A plan that is replaced often must be renewed nevertheless, so the time
 * of the plan before is kept. A new period means another lifetime, and a plan without a period ends the lifetime: both
 * change the installed addresses now.
 */
static uint64_t first_renewal(const struct plan *before, uint64_t period) {
  const uint64_t now = now_ns();
  if (period == 0 || (before != NULL && before->period != period)) return now;
  const uint64_t next = now + period;
  return before != NULL && before->renew_at != 0 && before->renew_at < next ? before->renew_at : next;
}

static void replace_plan(struct plan *plan) {
  remove_plan(plan->unit);
  plan->next = NULL;
  plan->previous = plans.last;
  *(plans.last != NULL ? &plans.last->next : &plans.first) = plan;
  plans.last = plan;
  plans.of_unit[plan->unit] = plan;
}

const char *store_plan(const unsigned char *bytes, size_t size) {
  const bool guarded = bytes[1] == KIND_GUARD;
  const uint16_t unit = u16_at(bytes + 2);
  const uint32_t requests = u32_at(bytes + 4), packets = u32_at(bytes + 8);
  const size_t body = guarded ? GUARD_SIZE : HEADER_SIZE;
  if (size < body) return "it is shorter than its header";
  if (guarded && words == NULL) return "there is no shared memory to guard it with";
  const uint32_t renewals = guarded ? u32_at(bytes + 12) : 0;
  const uint32_t generation = guarded ? u32_at(bytes + 20) : 0;
  if (guarded && (generation == 0 || generation > WORD_GENERATIONS)) return "its generation is out of range";
  const char *const fault = check_plan(bytes, size, body, (uint64_t)requests + renewals, packets);
  if (fault != NULL) return fault;
  struct plan *plan = malloc(sizeof *plan + size);
  if (plan == NULL) return "no memory to keep it";
  plan->unit = unit;
  plan->requests = requests;
  plan->packets = packets;
  plan->renewals = renewals;
  plan->guarded = guarded;
  plan->generation = generation;
  plan->grace = guarded ? u32_at(bytes + 24) * NS_PER_MS : 0;
  plan->period = guarded ? u32_at(bytes + 16) * NS_PER_MS : 0;
  plan->renew_at = renewals == 0 ? 0 : first_renewal(plans.of_unit[unit], plan->period);
  plan->inherited = false;
  plan->overtaken = false;
  plan->part = SKIP;
  plan->body = body;
  plan->size = size;
  memcpy(plan->bytes, bytes, size);
  replace_plan(plan);
  return NULL;
}
