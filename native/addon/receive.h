/* SPDX-License-Identifier: Apache-2.0 */
/* Reads packets without JavaScript, for repetition.h. */
#ifndef ADDON_RECEIVE_H
#define ADDON_RECEIVE_H

#include <stdbool.h>

struct handle;

/*
 * Reads a batch. If JavaScript has to see a packet of it, or an error, returns true and keeps the batch for the next
 * receive(), which then reads on. Requires an open handle scope.
 */
bool receive_ahead(struct handle *h);

#endif
