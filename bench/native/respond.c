/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the service behind the virtual address: answers each datagram from the address to which it was sent, with the
 * datagram's sequence number and this node's number. This program does not know which node should have the address. If
 * the kernel has lost the address, no answer is sent, which is right.
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
  /*
   * If the kernel did not schedule this service for milliseconds, its late answer would count for an address that has
   * moved.
   */
  note(KIND_BEGIN, stay_awake() ? 1 : 0, number, now(), 0);
  hand_on(now());
  for (;;) {
    if (poll(watched, count, -1) < 0 && errno != EINTR) fail("poll");
    for (nfds_t i = 0; i < count; i++)
      if (watched[i].revents != 0) answer_all(watched[i].fd, number);
  }
}
