/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the packets of cleanup plans (protocol 112), over one raw socket for each family. Does not know their content.
 */
#ifndef GUARDIAN_PACKET_H
#define GUARDIAN_PACKET_H

#include "netlink.h"
#include "plan.h"

/* Opens each socket that is not open yet. */
void open_raw_sockets(void);

void send_packets(const struct plan *plan, struct outcome *outcome);

#endif
