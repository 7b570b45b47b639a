/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast-probe respond: answers each datagram from the address that it was sent to, with the node's name. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "probe.h"

#define WORD_MAX_LENGTH 256 /* fits a packet, with a blank and a name behind it */

static void answer_all(int fd, const char *name) {
  struct request request;
  for (int i = 0; i < DRAIN_MAX && receive_request(fd, &request); i++) {
    size_t word = 0;
    while (word < request.length && word < WORD_MAX_LENGTH && request.bytes[word] != ' ' && request.bytes[word] != '\0')
      word++;
    request.bytes[word] = ' ';
    memcpy(request.bytes + word + 1, name, strlen(name));
    request.length = word + 1 + strlen(name);
    send_answer(fd, &request);
  }
}

int run_respond(const struct options *options) {
  const char *const any[2] = {"0.0.0.0", "::"};
  struct pollfd watched[2];
  nfds_t count = 0;
  if (options->count != 3 || !is_plain_name(options->words[1], strlen(options->words[1]))) wrong_usage();
  for (int i = 0; i < (options->bind != NULL ? 1 : 2); i++) {
    const int fd = open_service(options->bind != NULL ? options->bind : any[i], options->words[2]);
    if (fd >= 0) watched[count++] = (struct pollfd){.fd = fd, .events = POLLIN, .revents = 0};
  }
  if (count == 0) fail("bind to that address");
  /* A service that is not scheduled for milliseconds would answer late, for an address that has moved. */
  if (options->fifo) request_fifo();
  print_line("{\"t\":%.3f,\"event\":\"start\",\"name\":\"%s\"}", to_ms(now()), options->words[1]);
  for (;;) {
    if (poll(watched, count, -1) < 0 && errno != EINTR) fail("poll");
    for (nfds_t i = 0; i < count; i++)
      if (watched[i].revents != 0) answer_all(watched[i].fd, options->words[1]);
  }
}
