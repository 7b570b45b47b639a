/* SPDX-License-Identifier: Apache-2.0 */
/* The second reader of time stamps, for the target `receive`. See receive.h. */
#define _GNU_SOURCE
#include "receive.h"

#include <math.h>

static double known_offset, empty_at;
static unsigned steps; /* of the clock since the queue was empty */

void mark_empty(double at) {
  known_offset = realtime - monotonic;
  empty_at = at;
  steps = 0;
}

double time_of(const struct sent *packet) {
  const double offsets[] = {realtime - monotonic, known_offset};
  double latest = -INFINITY;
  for (unsigned i = 0; i < (fabs(offsets[0] - known_offset) > 1 ? 2u : 1u); i++) {
    const double at = packet->at - offsets[i];
    if (packet->at != 0 && at >= empty_at && at <= monotonic && at > latest) latest = at;
  }
  if (isinf(latest)) return monotonic;
  /* One step must never make a packet older than it is. A change of 1 ms is no step. */
  require(!packet->is_dated || steps > 1 || latest >= packet->came_at - 1);
  return latest;
}

void move_clock(unsigned ms, bool back) {
  if (ms == 0 || (back && realtime < 1000)) return;
  realtime += back ? -(double)ms : ms;
  steps++;
}
