/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages that the engine sends to its guardian. This file defines every offset in them.
 * src/linux/guardian/plan-message.ts writes the same format.
 *
 * Channel: socketpair(AF_UNIX, SOCK_SEQPACKET), non-blocking at both ends. The engine finds its descriptor's number in
 * HOLDFAST_GUARDIAN_FD. The guardian's messages are below. Each message of the engine is complete, in native byte order, at most 2 MiB:
 *   @0  u8  format    1
 *   @1  u8  kind      1 = store: replaces the unit's cleanup plan
 *                     2 = remove: forgets the unit's plan
 *                     3 = guard: store, with a word, a deadline and renewals
 *                     4 = look: the unit's deadline has come nearer
 *                     5 = notify: text for the service manager (sd_notify(3)) follows the header, at most 4 KiB. The
 *                     guardian passes it on unchanged; it sends READY=1 of the start and WATCHDOG=1 itself
 *                     6 = ready: the engine has its signal handlers
 * 7 = log: format of the guardian's log lines from now on. `unit` is 0 = the format that fits standard
 *                     error, 1 = JSON, 2 = text, 3 = journald
 *                     8 = clock: an order, the frames that the clock thread sends once a period. `unit` is the number
 *                     of a slot (guardian-words.h), `requests` the number of records.
 *                     9 = forget: forgets the order of the slot `unit`.
 *                     13 = snapshot: what the next engine needs to adopt the addresses after a crash. `requests` is
 *                     the number of slots. Only a header = the engine must not be started again after its end
 *                     14 = settled: the engine has adopted what it adopts. Plans of the engine before it that it has not
 *                     replaced are executed.
 *                     The messages 2, 4, 6, 7, 9 and 14 have only a header.
 *                     15 = rehearse: starts the program once more beside this engine, only for a check (docs/adr/0096).
 *                     16 = hand over: kills this engine and starts the next one.
 *                     The form of 15 and 16 is that of 13, but `packets` of 16 is the time in ms of CLOCK_MONOTONIC,
 *                     modulo 2^32, after which the order is refused.
 *   @2  u16 unit
 *   @4  u32 requests
 *   @8  u32 packets
 *   kind 3 only, before the requests:
 *       @12 u32 renewals   requests that follow the others; sent once a period while the word is armed
 *       @16 u32 period     ms; 0 = send them once, now. If the period differs from that of the plan before, the first
 *                          renewal is sent now
 *       @20 u32 generation of the word that belongs to this plan (guardian-words.h)
 *       @24 u32 grace      ms; later than that after the deadline, the packets are left out; 0 = never
 *   then per request:  @0 u32 length; @4 the bytes (one complete nlmsghdr message), zeros up to a multiple of 4
 *        per packet:   @0 u8 family (4 or 6); @1 u8 TTL or hop limit, 0 = 255; @2 u16 zero; @4 u32 interface index;
 *                     @8 16 bytes source;
 *                     @24 16 bytes destination (IPv4 in the first 4); @40 u32 length; @44 the bytes (payload of
 *                     protocol 112, checksum included), zeros up to a multiple of 4.
 *   Kind 8, after the header (`packets` is 0):
 *       @12 u32 generation of the slot's word
 *       @16 u32 unit of the cleanup plan
 *       @20 u32 interface index
 *       @24 u8  family (4 or 6); @25 u8 VRID; @26 u16 zero
 *       @28 u64 period     ns
 *       @36 u64 first      time of the first round, CLOCK_MONOTONIC in ns
 *       @44 u64 advance    ns by which the rounds move towards an earlier time, each by at most a 50th of the period
 *       @52 16 bytes source of this router's own packets (IPv4 in the first 4)
 *   then per record, in the order of sending:
 *       @0 u8 kind: 1 = packet, 2 = Ethernet frame; @1 u8 zero; @2 u16 every.
 *       A packet follows as above. A frame has @4 u32 length; @8 the bytes, zeros up to a multiple of 4.
 * A record is sent with a round if the slot's `sent` plus the slot's number is a multiple of `every`. At least one
 * packet
 *   has 1.
 *
 *   Kinds 13, 15 and 16, after the header (`unit` is 0, and `packets` of 13 and 15), per slot: @0 u32 number of the slot;
 *   @4 u32 generation of its word. Then text of the engine, which the guardian does not read.
 *
 * Messages of the guardian, at most 4 KiB:
 *   @0  u8  kind      0 = wake-up: the machine was suspended, and the engine has to read its clocks
 *                     1 = rehearsed: the program of kind 15 has ended. Its output follows the status
 *                     2 = kept: the engine of kind 16 is not replaced. The reason follows the status
 *   @1  u8  status    exit status of a rehearsal; 128 + the number of the signal that ended it
 *
 * The guardian sets the sequence numbers, NLM_F_REQUEST and NLM_F_ACK. The guardian logs and ignores a message that
 * breaks these rules; the unit keeps the plan that it had. New kinds extend this format; `format` changes if an offset
 * does.
 */
#ifndef GUARDIAN_MESSAGE_H
#define GUARDIAN_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHANNEL_VARIABLE "HOLDFAST_GUARDIAN_FD"
#define SNAPSHOT_VARIABLE "HOLDFAST_GUARDIAN_SNAPSHOT"
/* Its value is REVISION. A program with this variable rehearses its start, and exits. */
#define REHEARSAL_VARIABLE "HOLDFAST_GUARDIAN_REHEARSAL"
/* Grows with each kind, field or variable that an engine may need of its guardian. */
#define REVISION "1"

#define FORMAT 1
#define KIND_STORE 1
#define KIND_REMOVE 2
#define KIND_GUARD 3
#define KIND_LOOK 4
#define KIND_NOTIFY 5
#define KIND_READY 6
#define KIND_LOG 7
#define KIND_CLOCK 8
#define KIND_FORGET 9
#define KIND_SNAPSHOT 13
#define KIND_SETTLED 14
#define KIND_REHEARSE 15
#define KIND_HAND_OVER 16
#define ANSWER_REHEARSED 1
#define ANSWER_KEPT 2
#define ANSWER_MAX 4096u
#define HEADER_SIZE 12u
#define GUARD_SIZE 28u
#define PACKET_SIZE 44u
#define ORDER_SIZE 68u
#define RECORD_SIZE 4u /* in front of a packet or a frame of an order */
#define RECORD_PACKET 1
#define RECORD_FRAME 2
/* 255 IPv6 addresses for 254 unicast peers are 1.1 MB; the kernel wants a message whole in the sender's buffer. */
#define MESSAGE_MAX (2u << 20)
#define CHANNEL_BUFFER (4 << 20)
#define NOTIFY_MAX 4096u

static inline uint16_t u16_at(const unsigned char *bytes) {
  uint16_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

static inline uint32_t u32_at(const unsigned char *bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

static inline uint64_t u64_at(const unsigned char *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

/* Returns the size of a field of that length with its padding; 0 if it reaches past `left`. */
static inline size_t padded_size(uint32_t length, size_t left) {
  if (length > left) return 0;
  const size_t size = ((size_t)length + 3) & ~(size_t)3;
  return size > left ? 0 : size;
}

#endif
