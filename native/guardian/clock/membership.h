/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast groups of the guardian. The clock's raw sockets receive each group that any program of the host has joined.
 * Without a membership of the guardian they would be deaf between two engines. Only the executor thread uses this file.
 */
#ifndef GUARDIAN_CLOCK_MEMBERSHIP_H
#define GUARDIAN_CLOCK_MEMBERSHIP_H

#include <stdbool.h>

#include "order.h"

/* Joins the groups to which the order sends, on its interface. A membership stays until the guardian ends. */
void join_groups(const struct order *order);

/* Returns false if a group of any order could not be joined. */
bool has_all_memberships(void);

#endif
