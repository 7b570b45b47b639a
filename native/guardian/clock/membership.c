/* SPDX-License-Identifier: Apache-2.0 */
/* See membership.h. */
#define _GNU_SOURCE
#include "membership.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../message.h"

#define MEMBERSHIPS 1024u
#define DESTINATION 24u /* of a packet (message.h) */

struct membership {
  uint32_t interface;
  unsigned char group[16];
};

static struct membership joined[MEMBERSHIPS];
static unsigned count;
static bool failed;

static bool is_multicast(const unsigned char *address, uint8_t family) {
  return family == 4 ? (address[0] & 0xf0) == 0xe0 : address[0] == 0xff;
}

static bool is_joined(uint32_t interface, const unsigned char *group) {
  for (unsigned i = 0; i < count; i++)
    if (joined[i].interface == interface && memcmp(joined[i].group, group, sizeof joined[i].group) == 0) return true;
  return false;
}

/* Each membership has a socket of its own, because the kernel limits the memberships of one socket. */
static bool join(const struct order *order, const unsigned char *group) {
  const int fd = socket(order->family == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  int result;
  if (order->family == 4) {
    struct ip_mreqn request = {.imr_ifindex = (int)order->interface};
    memcpy(&request.imr_multiaddr, group, sizeof request.imr_multiaddr);
    result = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
  } else {
    struct ipv6_mreq request = {.ipv6mr_interface = order->interface};
    memcpy(&request.ipv6mr_multiaddr, group, sizeof request.ipv6mr_multiaddr);
    result = setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &request, sizeof request);
  }
  if (result != 0) (void)close(fd);
  return result == 0;
}

void join_groups(const struct order *order) {
  size_t at = ORDER_SIZE;
  for (uint32_t i = 0; i < order->records; i++, at = after_record(order, at)) {
    const unsigned char *const record = order->bytes + at;
    const unsigned char *const group = record + RECORD_SIZE + DESTINATION;
    if (record[0] != RECORD_PACKET || !is_multicast(group, order->family) || is_joined(order->interface, group)) continue;
    if (count == MEMBERSHIPS || !join(order, group)) {
      failed = true;
      continue;
    }
    joined[count].interface = order->interface;
    memcpy(joined[count++].group, group, sizeof joined[0].group);
  }
}

bool has_all_memberships(void) {
  return !failed;
}
