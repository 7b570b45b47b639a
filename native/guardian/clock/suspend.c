/* SPDX-License-Identifier: Apache-2.0 */
/* See suspend.h. */
#include "suspend.h"

#include <stdint.h>

#include "../now.h"

#define SUSPENSION (10 * NS_PER_MS)
#define READINGS_MAX 4
#define NARROW (1 * NS_PER_MS)

static uint64_t known; /* time that the machine was suspended since it was started */
static bool noticed;

static uint64_t boot_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/*
 * Returns the least time that the machine was suspended. A thread that loses its CPU between two readings must not see
 * that as a suspension, so the second reading of CLOCK_MONOTONIC counts.
 */
static uint64_t suspended(void) {
  uint64_t least = 0;
  for (int i = 0; i < READINGS_MAX; i++) {
    const uint64_t before = now_ns(), boot = boot_ns(), after = now_ns();
    const uint64_t difference = boot > after ? boot - after : 0;
    if (difference > least) least = difference;
    if (after - before < NARROW) break;
  }
  return least;
}

bool was_suspended(void) {
  const uint64_t now = suspended();
  if (now >= known + SUSPENSION) noticed = true;
  if (now > known) known = now;
  return noticed;
}

void forget_suspension(void) {
  (void)was_suspended();
  noticed = false;
}
