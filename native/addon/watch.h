/* SPDX-License-Identifier: Apache-2.0 */
/* Reports events of a handle: see handle_start() in handle.h. Only the timer uses more of this file. */
#ifndef ADDON_WATCH_H
#define ADDON_WATCH_H

#include <stdbool.h>

#include "handle.h"

/* An armed timer keeps the event loop alive; a timer that is not armed does not. */
void keep_loop_alive(struct handle *handle, bool keep);

#endif
