/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clocks of now.h. */
#include "now.h"

double clock_ms(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return 0;
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

uint64_t now_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
