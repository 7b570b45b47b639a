/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cleanup plans: what the guardian does for each unit in place of an engine that is gone or late. This file decides
 * which message is a plan. A unit has at most one plan. A stored plan is well formed, so the functions that read it
 * check nothing.
 */
#ifndef GUARDIAN_PLAN_H
#define GUARDIAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS 65536u

struct plan {
  struct plan *next;
  struct plan *previous;
  uint16_t unit;
  uint32_t requests;
  uint32_t packets;
  uint32_t renewals;
  bool guarded; /* a word belongs to the plan; if not, the fields below are 0 */
  uint32_t generation;
  uint64_t grace; /* ns, as every time below */
  uint64_t period;
  uint64_t renew_at; /* 0 = no renewal is due */
  bool inherited; /* made by an engine that has died; the next engine has not replaced it */
  bool overtaken; /* executed while the clock thread may have sent frames; its packets are sent once more */
  enum { SKIP, ADDRESSES_ONLY, EVERYTHING } part; /* the part that is being executed */
  size_t body; /* offset of the first request */
  size_t size;
  unsigned char bytes[]; /* the message as received, checked */
};

/* The stored plans, in the order in which the engine stored them. */
struct plans {
  struct plan *first, *last;
  struct plan *of_unit[UNITS];
};

extern struct plans plans;

/* Stores the plan of a message of at least HEADER_SIZE bytes. Returns NULL, or the defect of the message. */
const char *store_plan(const unsigned char *bytes, size_t size);

void remove_plan(uint16_t unit);

/* Frees nothing: the process is about to end. */
void forget_plans(void);

/* Returns NULL, or the defect of the requests and packets that begin at `at`. */
const char *check_plan(const unsigned char *bytes, size_t size, size_t at, uint64_t requests, uint32_t packets);

/* Returns NULL and moves `at` behind the packet there, or returns the defect of the packet. `at` is within the size. */
const char *check_packet(const unsigned char *bytes, size_t size, size_t *at);

/* Returns the offset of what follows the request at `at`. */
size_t after_request(const struct plan *plan, size_t at);

#endif
