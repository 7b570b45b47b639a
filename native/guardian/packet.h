/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends packets of protocol 112: those of cleanup plans, over one raw socket for each family, and single ones for the
 * clock thread. This file does not know their content.
 */
#ifndef GUARDIAN_PACKET_H
#define GUARDIAN_PACKET_H

#include "netlink.h"
#include "plan.h"

/* Opens each socket that is not open yet. */
void open_raw_sockets(void);

/*
 * Returns a raw socket of protocol 112 for AF_INET or AF_INET6, or -1. A filter that accepts nothing keeps its receive
 * queue empty.
 */
int open_raw_socket(int family);

/* Sends the packet of a record (message.h) once, without waiting. Returns 0 or errno. */
int try_packet(int fd, const unsigned char *record);

void send_packets(const struct plan *plan, struct outcome *outcome);

#endif
