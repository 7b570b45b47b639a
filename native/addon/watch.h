/* SPDX-License-Identifier: Apache-2.0 */
/* Reports events of a handle: see handle_start() in handle.h. Timers and deferred reading (defer.h) use more of this file. */
#ifndef ADDON_WATCH_H
#define ADDON_WATCH_H

#include <stdbool.h>

#include "handle.h"

/* An armed timer keeps the event loop alive; a timer that is not armed does not. */
void keep_loop_alive(struct handle *handle, bool keep);

/* The event loop stops watching the descriptor of a started handle, until wake_poll(). */
void rest_poll(struct handle *handle);
void wake_poll(struct handle *handle);

/* Calls `onReadable` in the next iteration of the event loop, if a packet is held for receive(). */
void report_soon(struct handle *handle);

#endif
