/* SPDX-License-Identifier: Apache-2.0 */
/* See news-filter.h. */
#include "news-filter.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#define ACCEPT 0x40000u /* more than the length of any packet */
#define IPV4_HEADER 20u
#define MOST_FIELDS 10u
#define LONGEST_JUMP 255u
#define VRRP 112u

/* The value that a packet must have at one place, and the instruction that loads it. */
struct field {
  uint16_t load;
  uint32_t place;
  uint32_t value;
};

struct writer {
  struct sock_filter *program;
  size_t length;
};

static uint32_t u32_of(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static size_t header_of(const struct watch *watch) {
  return watch->source_length == sizeof(struct sockaddr_in) ? IPV4_HEADER : 0;
}

/* ---- instructions ---- */

static void add(struct writer *writer, uint16_t code, uint8_t yes, uint8_t no, uint32_t value) {
  if (writer->length < BPF_MAXINSNS)
    writer->program[writer->length] = (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = value};
  writer->length++;
}

static void give(struct writer *writer, uint32_t result) {
  add(writer, BPF_RET | BPF_K, 0, 0, result);
}

/* Accepts the packet unless it has this value. Takes three instructions. */
static void expect(struct writer *writer, struct field field) {
  add(writer, field.load, 0, 0, field.place);
  add(writer, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, field.value);
  give(writer, ACCEPT);
}

/* ---- fields ---- */

/* Writes the fields of the headers that all octets of a repetition share. Returns their number. */
static unsigned fields_of(const struct watch *watch, struct field *fields) {
  const uint16_t word = BPF_LD | BPF_W | BPF_ABS, half = BPF_LD | BPF_H | BPF_ABS;
  const uint32_t network = (uint32_t)SKF_NET_OFF;
  unsigned count = 0;
  fields[count++] = (struct field){BPF_LD | BPF_W | BPF_LEN, 0, (uint32_t)watch->length};
  if (header_of(watch) != 0) {
    fields[count++] = (struct field){half, 2, u32_of(watch->bytes) & 0xffff};
    fields[count++] = (struct field){half, 8, (uint32_t)watch->ttl << 8 | watch->bytes[9]};
    fields[count++] = (struct field){word, 12, u32_of(watch->source + 4)};
    fields[count++] = (struct field){word, 16, u32_of(watch->destination)};
    return count;
  }
  fields[count++] = (struct field){half, network + 6, VRRP << 8 | (uint32_t)watch->ttl};
  for (uint32_t i = 0; i < 4; i++) fields[count++] = (struct field){word, network + 8 + 4 * i, u32_of(watch->source + 8 + 4 * i)};
  for (uint32_t i = 0; i < 4; i++) fields[count++] = (struct field){word, network + 24 + 4 * i, u32_of(watch->destination + 4 * i)};
  return count;
}

/* An IPv4 watch of a packet with options, of a fragment or of another source matches nothing. */
static bool fits(const struct watch *watch) {
  const size_t header = header_of(watch);
  if (watch->length < header + 4 || (watch->length - header) % 4 != 0 || watch->ttl < 0 || watch->ttl > 255) return false;
  return header == 0 || (watch->bytes[0] == 0x45 && (watch->bytes[6] & 0xbf) == 0 && watch->bytes[7] == 0 &&
                         memcmp(watch->bytes + 12, watch->source + 4, 4) == 0 && watch->bytes[8] == watch->ttl &&
                         memcmp(watch->bytes + 16, watch->destination, 4) == 0);
}

/* ---- the program ---- */

/* A load beyond the end of a packet would drop the packet. So its length is checked before anything else. */
static void write_beginning(struct writer *writer, size_t header) {
  add(writer, BPF_LD | BPF_W | BPF_LEN, 0, 0, 0);
  add(writer, BPF_JMP | BPF_JGE | BPF_K, 1, 0, (uint32_t)header + 4);
  give(writer, ACCEPT);
  if (header == 0) return;
  expect(writer, (struct field){BPF_LD | BPF_B | BPF_ABS, 0, 0x45});
  add(writer, BPF_LD | BPF_H | BPF_ABS, 0, 0, 6);
  add(writer, BPF_JMP | BPF_JSET | BPF_K, 0, 1, 0xbfff); /* a fragment */
  give(writer, ACCEPT);
}

/* Drops the packets of one watch. The accumulator has the number of the packet. */
static bool write_watch(struct writer *writer, const struct watch *watch, unsigned number, const bool *shared) {
  const size_t header = header_of(watch), start = writer->length;
  struct field fields[MOST_FIELDS];
  const unsigned count = fields_of(watch, fields);
  add(writer, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, number);
  for (unsigned i = 0; i < count; i++)
    if (!shared[i]) expect(writer, fields[i]);
  for (size_t at = header; at < watch->length; at += 4)
    expect(writer, (struct field){BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, u32_of(watch->bytes + at)});
  give(writer, 0);
  const size_t skipped = writer->length - start - 1;
  if (skipped > LONGEST_JUMP || writer->length > BPF_MAXINSNS) return false;
  writer->program[start].jf = (uint8_t)skipped;
  return true;
}

/* Finds the fields that are the same in all watches, which are compared once. Returns a watch, or NULL if one does not fit. */
static const struct watch *find_shared(const struct repeated *own, bool *shared) {
  const struct watch *first = NULL;
  struct field known[MOST_FIELDS], fields[MOST_FIELDS];
  memset(known, 0, sizeof known);
  for (unsigned i = 0; i < NUMBERS; i++) {
    const struct watch *const watch = &own->watch[i];
    if (watch->length == 0) continue;
    if (!fits(watch) || (first != NULL && header_of(first) != header_of(watch))) return NULL;
    const unsigned count = fields_of(watch, fields);
    for (unsigned each = 0; each < count; each++) {
      if (first == NULL) known[each] = fields[each];
      shared[each] = (first == NULL || shared[each]) && known[each].value == fields[each].value;
    }
    if (first == NULL) first = watch;
  }
  return first;
}

unsigned short write_news_filter(const struct repeated *own, struct sock_filter *program) {
  struct writer writer = {program, 0};
  bool shared[MOST_FIELDS] = {false};
  struct field fields[MOST_FIELDS];
  const struct watch *const first = find_shared(own, shared);
  if (first == NULL) return 0;
  write_beginning(&writer, header_of(first));
  const unsigned count = fields_of(first, fields);
  for (unsigned i = 0; i < count; i++)
    if (shared[i]) expect(&writer, fields[i]);
  add(&writer, BPF_LD | BPF_B | BPF_ABS, 0, 0, (uint32_t)header_of(first) + 1);
  for (unsigned i = 0; i < NUMBERS; i++)
    if (own->watch[i].length != 0 && !write_watch(&writer, &own->watch[i], i, shared)) return 0;
  give(&writer, ACCEPT);
  return writer.length > BPF_MAXINSNS ? 0 : (unsigned short)writer.length;
}
