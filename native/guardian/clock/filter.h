/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's filter of the clock's raw sockets: they accept only packets whose VRID has an order. The filter accepts
 * a VRID before the clock thread receives the first order of that VRID, so no packet is missed. Only the executor
 * thread uses this file.
 */
#ifndef GUARDIAN_CLOCK_FILTER_H
#define GUARDIAN_CLOCK_FILTER_H

#include <stdbool.h>

#include "order.h"

/* Counts an order. Returns false with errno if the kernel refuses the wider filter; then nothing is counted. */
bool accept_vrid(const struct order *order);
/* Ends the effect of accept_vrid(). */
void release_vrid(const struct order *order);

#endif
