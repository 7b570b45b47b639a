/* SPDX-License-Identifier: Apache-2.0 */
/* See sockets.h. */
#define _GNU_SOURCE
#include "sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../../common/guardian-words.h"
#include "../netlink.h"
#include "../packet.h"
#include "mail.h"

/* Numbers from here on are behind those of all other descriptors. */
#define LAST_DESCRIPTORS 512

int ask_fd = -1, cover_fd = -1;

static int raw4_fd = -1, raw6_fd = -1, frame_fd = -1;

/*
 * Returns -1 without the socket. Protocol 0: the socket only sends. The kernel closes the files of a dead process from
 * the last to the first, and needs some 10 ms for a packet socket. For this reason the packet socket has a lower
 * descriptor than the channel. If the channel was closed first, an engine in the same PID namespace would begin to
 * leave, and would be killed in the middle of that.
 */
static int open_frame_socket(void) {
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int last = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LAST_DESCRIPTORS);
  if (last < 0) return fd;
  (void)close(fd);
  return last;
}

const char *open_clock_descriptors(void) {
  if (!open_mail()) return "eventfd";
  ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (ask_fd < 0) return "eventfd";
  cover_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (cover_fd < 0) return "timerfd_create";
  raw4_fd = open_raw_socket(AF_INET);
  raw6_fd = open_raw_socket(AF_INET6);
  set_option(raw4_fd, IPPROTO_IP, IP_PKTINFO, 1);
  set_option(raw6_fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
  set_option(raw4_fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
  set_option(raw6_fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
  frame_fd = open_frame_socket();
  return NULL;
}

static bool keep_over_exec(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  return flags >= 0 && fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) == 0;
}

bool pass_clock_descriptors(void) {
  char numbers[32];
  if (!keep_over_exec(ask_fd) || !keep_over_exec(cover_fd)) return false;
  (void)snprintf(numbers, sizeof numbers, "%d,%d", ask_fd, cover_fd);
  return setenv(CLOCK_VARIABLE, numbers, 1) == 0;
}

int raw_socket_of(uint8_t family) {
  return family == 4 ? raw4_fd : raw6_fd;
}

int frame_socket(void) {
  return frame_fd;
}
