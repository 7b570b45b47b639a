/* SPDX-License-Identifier: Apache-2.0 */
/* See sender.h. */
#define _GNU_SOURCE
#include "sender.h"

#include <string.h>

#define IPV4_HEADER 20u

bool read_packet(const unsigned char *bytes, size_t length, const struct sockaddr_in6 *name, struct sender *sender) {
  size_t at = 0;
  if (length > SENDER_MAX) length = SENDER_MAX;
  if (sender->family == 4) {
    if (length < IPV4_HEADER) return false;
    at = (size_t)(bytes[0] & 0xf) * 4;
    memcpy(sender->source, bytes + 12, 4);
  } else {
    memcpy(sender->source, &name->sin6_addr, sizeof sender->source);
  }
  if (length < at + 2) return false;
  sender->vrid = bytes[at + 1];
  return true;
}

uint32_t read_control(struct msghdr *header, struct sender *sender) {
  uint32_t drops = 0;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL; part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
      struct in_pktinfo info;
      memcpy(&info, CMSG_DATA(part), sizeof info);
      sender->interface = (uint32_t)info.ipi_ifindex;
    } else if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
      struct in6_pktinfo info;
      memcpy(&info, CMSG_DATA(part), sizeof info);
      sender->interface = info.ipi6_ifindex;
    } else if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_RXQ_OVFL) {
      memcpy(&drops, CMSG_DATA(part), sizeof drops);
    }
  }
  return drops;
}
