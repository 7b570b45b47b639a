/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of other routers. This file decides which packet is news for which slots. News is a packet of protocol 112
 * with the interface, family and VRID of an order, from a source that is not the order's own. News concerns each slot
 * of that order's unit. This file does not know what a packet says. Only the clock thread uses this file.
 */
#ifndef GUARDIAN_CLOCK_NEWS_H
#define GUARDIAN_CLOCK_NEWS_H

#include <stdint.h>

/* Reads what waits in the raw socket of that family, at most a bounded number of packets. */
void read_news(uint8_t family);

/* Records that both sockets were empty at this time or later. */
void note_no_news(uint64_t at);
/* The same as read_news(), unless the socket was empty a moment before `now`. */
void read_fresh_news(uint8_t family, uint64_t now);

#endif
