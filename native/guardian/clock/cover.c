/* SPDX-License-Identifier: Apache-2.0 */
/* See cover.h. */
#include "cover.h"

#include <stdbool.h>
#include <sys/timerfd.h>
#include <time.h>

#include "../now.h"
#include "slot.h"
#include "sockets.h"
#include "table.h"

static uint64_t set_to; /* 0 = the timer is off */
static bool changed, fires;

void change_cover(void) {
  changed = true;
}

void fire_cover(void) {
  changed = fires = true;
}

void note_frame(const struct order *order, uint64_t now) {
  if (set_to < now + order->period) changed = true;
}

/* Returns 0 if no slot is armed. A moment that has passed is 1. */
static uint64_t wanted_at(uint64_t now) {
  uint64_t earliest = UINT64_MAX;
  for (const struct order *order = orders; order != NULL; order = order->next) {
    if (!is_slot_armed(order)) continue;
    const uint64_t at = is_slot_stopped(order) ? 1 : last_sent_at(order) + order->period * 5 / 2;
    if (at < earliest) earliest = at;
  }
  if (earliest == UINT64_MAX) return 0;
  return earliest > now ? earliest : 1;
}

/*
 * A timer that has fired stays as it is while its reason stays: setting it would take the event from the engine. Another
 * stopped slot is another event.
 */
void keep_cover(uint64_t now) {
  if (!changed) return;
  changed = false;
  const uint64_t at = wanted_at(now);
  if (at == set_to && !fires) return;
  fires = false;
  const struct itimerspec moment = {
      .it_value = {.tv_sec = (time_t)(at / NS_PER_S), .tv_nsec = (long)(at % NS_PER_S)}};
  if (timerfd_settime(cover_fd, TFD_TIMER_ABSTIME, &moment, NULL) == 0) set_to = at;
}
