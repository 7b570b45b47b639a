/* SPDX-License-Identifier: Apache-2.0 */
/* The record that describes a received packet. src/linux/native.ts has the same offsets. */
#ifndef ADDON_METADATA_H
#define ADDON_METADATA_H

#include <sys/socket.h>

#define META_SIZE 128u
#define META_LENGTH 0
#define META_FLAGS 4
#define META_TTL 8
#define META_IFINDEX 12
#define META_REALTIME 16
#define META_OVERFLOW 24
#define META_DESTINATION 32
#define META_SOURCE_LENGTH 48
#define META_SOURCE 52
#define META_SOURCE_MAX 28u
#define META_PKTTYPE 80
#define META_VLAN 84
#define FLAG_TRUNCATED 1u
#define FLAG_CONTROL_TRUNCATED 2u
#define FLAG_REPEATED 4u /* the packet has the same octets as the last packet of its sender, and the watch has counted it (repetition.h) */

/* Writes the record of a message that recvmmsg() has received. */
void describe_message(struct mmsghdr *message, unsigned char *record);

#endif
