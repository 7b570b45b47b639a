/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service behind the virtual address: answers each datagram, from the address that it was sent to, with its
 * sequence and this node's number. Does not know which node should have the address. If the kernel has lost it, silence
 * is the right answer.
 */
#include "gauge.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static void answer_all(int fd, uint32_t number) {
  struct request request;
  struct datagram datagram;
  for (int i = 0; i < DRAIN_MAX && receive_request(fd, &request); i++) {
    if (request.length != sizeof datagram) continue;
    memcpy(&datagram, request.bytes, sizeof datagram);
    datagram.number = number;
    memcpy(request.bytes, &datagram, sizeof datagram);
    send_answer(fd, &request);
  }
}

int respond(uint32_t number, const char *port) {
  const char *const any[2] = {"0.0.0.0", "::"};
  struct pollfd watched[2];
  nfds_t count = 0;
  for (int i = 0; i < 2; i++) {
    const int fd = open_service(any[i], port);
    if (fd >= 0) watched[count++] = (struct pollfd){.fd = fd, .events = POLLIN, .revents = 0};
  }
  /* A service that is not scheduled for milliseconds would answer late, for an address that has moved. */
  note(KIND_BEGIN, stay_awake() ? 1 : 0, number, now(), 0);
  hand_on(now());
  for (;;) {
    if (poll(watched, count, -1) < 0 && errno != EINTR) fail("poll");
    for (nfds_t i = 0; i < count; i++)
      if (watched[i].revents != 0) answer_all(watched[i].fd, number);
  }
}
