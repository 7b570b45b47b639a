/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the observer: asks all hosts once a tick which of them has the virtual address (ARP or NDP). The observer
 * records every answer and every announcement with its MAC address. native/common/who-has.c decides what an answer is.
 * This program does not know which node has which MAC address.
 */
#include "gauge.h"

#include "who-has.h"

#include <errno.h>
#include <poll.h>

static uint64_t number_of(const unsigned char *mac) {
  uint64_t value = 0;
  for (int i = 0; i < ETH_ALEN; i++) value = value << 8 | mac[i];
  return value;
}

static void take_answers(const struct question *question) {
  struct packet packet;
  const unsigned char *mac = NULL;
  for (int i = 0; i < DRAIN_MAX && receive_packet(question->fd, &packet); i++) {
    const enum statement said = read_statement(question, &packet, &mac);
    if (said == STATEMENT_NONE) continue;
    note(said == STATEMENT_ANSWER ? KIND_CLAIM : KIND_ANNOUNCED, 0, number_of(mac), packet.at, packet.read_at);
  }
}

int ask(const char *interface, const char *address, nanos interval) {
  struct question question;
  open_question(&question, interface, address);
  const bool fifo = stay_awake();
  const int signals = open_end_signals();
  const nanos began = now();
  uint64_t sequence = 0;
  nanos due = began;
  struct pollfd watched[2] = {{.fd = open_ticks(began + interval, interval), .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  note(KIND_BEGIN, fifo ? 1 : 0, 0, began, interval);
  for (;;) {
    if (poll(watched, 2, 100) < 0 && errno != EINTR) fail("poll");
    /* Answers that have arrived by now belong to the question before this one. */
    take_answers(&question);
    if (watched[1].revents != 0) close_journal();
    const uint64_t ticked = read_ticks(watched[0].fd);
    const nanos first = due + interval; /* ticks after this one were missed */
    due += (nanos)ticked * interval;
    if (ticked > 0) {
      const nanos at = now();
      const bool asked = ask_all_hosts(&question);
      note(KIND_ASKED, asked ? 0 : (uint32_t)errno, sequence++, at, first);
    }
    hand_on(now());
  }
}
