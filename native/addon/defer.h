/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred reading: while a socket receives only repetitions (repetition.h), the event loop does not wake for each of
 * them. The packets wait in the socket, and are read together when the earliest deadline of a watch would pass. A second
 * socket, the news socket, receives only packets that no watch expects; such a packet ends the deferral. It is never
 * read for its content, so packets keep the kernel's order. This file decides when reading is deferred. It does
 * not know libuv (watch.h), or what the filter compares (news-filter.h).
 */
#ifndef ADDON_DEFER_H
#define ADDON_DEFER_H

#include <stdbool.h>

#include "handle.h"

/* Lets a socket with watches use this news socket. */
void use_news_socket(struct handle *h, struct handle *news);

/* Notes a wake-up in which only repetitions arrived, and defers reading after some of them. */
void note_calm(struct handle *h);

/*
 * Reads what waits, for a socket whose reading is deferred. If JavaScript has to see a packet, the deferral ends, JavaScript is called
 * soon, and the result is true.
 */
bool read_deferred(struct handle *h);

/* The event loop wakes again for each packet. Does nothing unless reading is deferred. */
void end_deferral(struct handle *h);

#endif
