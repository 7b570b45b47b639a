/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renews the lifetime of installed addresses. Only the guardian renews, only while the plan's word is armed, and the
 * engine reads in the word that a renewal is under way.
 */
#ifndef GUARDIAN_RENEW_H
#define GUARDIAN_RENEW_H

#include <stdint.h>

/* Renews all plans as soon as one of them is due. Requires shared memory. */
void renew_addresses(uint64_t now);

#endif
