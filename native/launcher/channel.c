/* SPDX-License-Identifier: Apache-2.0 */
/* See channel.h. */
#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"
#include "run.h"

#define RUN 0x80u

enum flags { EXCEEDED = 1, NO_MORE = 2 };

struct answer {
  uint8_t kind;
  uint8_t flags;
  uint16_t length;
  int32_t value;
  char output[OUTPUT_KEPT];
};

bool leaving;

void send_answer(enum kind kind, int value) {
  struct answer answer;
  const uint32_t length = run.written < OUTPUT_KEPT ? run.written : OUTPUT_KEPT;
  memset(&answer, 0, sizeof answer);
  answer.kind = (uint8_t)kind;
  answer.flags = (uint8_t)((run.written > OUTPUT_LIMIT ? EXCEEDED : 0) | (run.has_survivor ? NO_MORE : 0));
  answer.length = (uint16_t)length;
  answer.value = value;
  memcpy(answer.output, run.kept, length);
  const char *bytes = (const char *)&answer;
  size_t left = offsetof(struct answer, output) + length;
  while (left > 0) {
    const ssize_t sent = write(CHANNEL, bytes, left);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      leaving = true;
      return;
    }
    bytes += sent;
    left -= (size_t)sent;
  }
}

static void handle_order(unsigned char order) {
  static bool number_follows;
  if (number_follows) {
    number_follows = false;
    set_number(order);
    return;
  }
  if (order >= RUN) {
    if (!run.is_under_way && order - RUN < program_count) start_run(&programs[order - RUN]);
    return;
  }
  switch (order) {
    case 'n':
      number_follows = true;
      break;
    case 't':
      terminate_run();
      send_answer(TERM_SENT, 0);
      break;
    case 'k':
      (void)kill_run();
      break;
    default: /* An order of a newer version is ignored. */
      break;
  }
}

void read_orders(void) {
  unsigned char orders[16];
  const ssize_t size = read(CHANNEL, orders, sizeof orders);
  if (size < 0 && errno == EINTR) return;
  if (size <= 0) leaving = true;
  for (ssize_t i = 0; i < size && !leaving; i++) handle_order(orders[i]);
}
