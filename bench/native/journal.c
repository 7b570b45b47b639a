/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the observations as records to standard output. This file decides that if the reader is slow, this process
 * first uses more memory, then drops records (the record KIND_END has their number), but never delays a probe. This
 * file does not know the meaning of the records.
 */
#include "gauge.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM ((size_t)8 << 20) /* enough bytes for two minutes of probes */
#define EVERY_NS 20000000ll
#define PATIENCE_MS 2000

static unsigned char *buffer;
static size_t first, used; /* ring buffer of bytes: position of the first byte, number of used bytes */
static uint64_t dropped;
static nanos handed_on_at;

void open_journal(void) {
  buffer = malloc(ROOM);
  if (buffer == NULL) fail("get memory");
  memset(buffer, 0, ROOM); /* touches every page now, so that no page fault delays a later probe */
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) != 0) fail("prepare standard output");
}

void note(enum kind kind, uint32_t number, uint64_t value, nanos at, nanos other) {
  const struct record record = {.kind = kind, .number = number, .value = value, .at = at, .other = other};
  if (used + sizeof record > ROOM) {
    dropped++;
    return;
  }
  /*
   * ROOM is a multiple of a record's size, and only complete records are added. Because of this size, no record is
   * split at the end of the ring buffer.
   */
  memcpy(buffer + (first + used) % ROOM, &record, sizeof record);
  used += sizeof record;
}

static bool write_some(void) {
  const size_t length = first + used > ROOM ? ROOM - first : used;
  const ssize_t written = write(STDOUT_FILENO, buffer + first, length);
  if (written < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    exit(EXIT_FAILURE); /* the reader of the records has ended, so this process has no purpose left */
  }
  first = (first + (size_t)written) % ROOM;
  used -= (size_t)written;
  return written > 0;
}

void hand_on(nanos time) {
  if (time - handed_on_at < EVERY_NS) return;
  handed_on_at = time;
  while (used > 0 && write_some()) continue;
}

void close_journal(void) {
  const uint64_t lost = dropped;
  while (used + sizeof(struct record) > ROOM && write_some()) continue;
  note(KIND_END, 0, lost, now(), 0);
  while (used > 0) {
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&reader, 1, PATIENCE_MS) <= 0) exit(EXIT_FAILURE);
    (void)write_some();
  }
  exit(EXIT_SUCCESS);
}
