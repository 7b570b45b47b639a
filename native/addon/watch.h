/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a handle report events: see handle_start() in handle.h. Only the timer needs to know more. */
#ifndef ADDON_WATCH_H
#define ADDON_WATCH_H

#include <stdbool.h>

#include "handle.h"

/* An armed timer keeps the event loop alive; a timer that is not armed does not. */
void keep_loop_alive(struct handle *handle, bool keep);

#endif
