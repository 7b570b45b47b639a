/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: nanoseconds for deadlines, milliseconds for the log. A clock that cannot be read returns 0. */
#ifndef GUARDIAN_NOW_H
#define GUARDIAN_NOW_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

double clock_ms(clockid_t clock);

/* CLOCK_MONOTONIC. */
uint64_t now_ns(void);

#endif
