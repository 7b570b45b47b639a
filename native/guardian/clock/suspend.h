/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that the machine was suspended: CLOCK_MONOTONIC stands still meanwhile, so no deadline shows it. */
#ifndef GUARDIAN_CLOCK_SUSPEND_H
#define GUARDIAN_CLOCK_SUSPEND_H

#include <stdbool.h>

/* Returns true from the first look after a suspension until forget_suspension(). */
bool was_suspended(void);

/* Only suspensions from now on count. */
void forget_suspension(void);

#endif
