/* SPDX-License-Identifier: Apache-2.0 */
/* See who-has.h. Where the protocol permits it, a question leaves no entry in any neighbour cache. */
#define _GNU_SOURCE
#include "who-has.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/*
 * Sends a solicitation to the solicited-node group (RFC 4291 §2.7.1), from our link-local address, which the kernel
 * chooses.
 */
static void open_nd(struct question *q, const char *interface, const struct in6_addr *target,
                    const unsigned char *mac) {
  struct sockaddr_in6 group;
  struct icmp6_filter filter;
  const int hops = 255;
  q->is_ipv6 = true;
  q->fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);
  if (q->fd < 0) fail("open an ICMPv6 socket");
  ICMP6_FILTER_SETBLOCKALL(&filter);
  ICMP6_FILTER_SETPASS(ND_NEIGHBOR_ADVERT, &filter);
  if (setsockopt(q->fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) != 0) fail("choose what to hear");
  if (setsockopt(q->fd, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface)) != 0)
    fail("bind to that interface");
  if (setsockopt(q->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) != 0) fail("set the hop limit");
  memset(&group, 0, sizeof group);
  group.sin6_family = AF_INET6;
  group.sin6_scope_id = if_nametoindex(interface);
  memcpy(group.sin6_addr.s6_addr, "\xff\x02\0\0\0\0\0\0\0\0\0\x01\xff", 13);
  memcpy(group.sin6_addr.s6_addr + 13, target->s6_addr + 13, 3);
  memcpy(&q->all_hosts, &group, sizeof group);
  q->all_hosts_length = sizeof group;
  q->bytes.nd.header.nd_ns_type = ND_NEIGHBOR_SOLICIT;
  memcpy(&q->bytes.nd.header.nd_ns_target, target, sizeof *target);
  q->bytes.nd.option.nd_opt_type = ND_OPT_SOURCE_LINKADDR;
  q->bytes.nd.option.nd_opt_len = 1;
  memcpy(q->bytes.nd.mac, mac, ETH_ALEN);
  q->length = sizeof q->bytes.nd;
}

static void open_arp(struct question *q, const char *interface, const struct in_addr *target,
                     const unsigned char *mac) {
  struct sockaddr_ll broadcast;
  memset(&broadcast, 0, sizeof broadcast);
  q->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETHERTYPE_ARP));
  if (q->fd < 0) fail("open a packet socket");
  broadcast.sll_family = AF_PACKET;
  broadcast.sll_protocol = htons(ETHERTYPE_ARP);
  broadcast.sll_ifindex = (int)if_nametoindex(interface);
  broadcast.sll_halen = ETH_ALEN;
  memset(broadcast.sll_addr, 0xff, ETH_ALEN);
  if (bind(q->fd, (const struct sockaddr *)&broadcast, sizeof broadcast) != 0) fail("bind to that interface");
  memcpy(&q->all_hosts, &broadcast, sizeof broadcast);
  q->all_hosts_length = sizeof broadcast;
  q->bytes.arp.arp_hrd = htons(ARPHRD_ETHER);
  q->bytes.arp.arp_pro = htons(ETHERTYPE_IP);
  q->bytes.arp.arp_hln = ETH_ALEN;
  q->bytes.arp.arp_pln = 4;
  q->bytes.arp.arp_op = htons(ARPOP_REQUEST);
  /* Sender 0.0.0.0 (RFC 5227 §2.1.1): no cache learns from it. */
  memcpy(q->bytes.arp.arp_sha, mac, ETH_ALEN);
  memcpy(q->bytes.arp.arp_tpa, target, 4);
  q->length = sizeof q->bytes.arp;
}

void open_question(struct question *q, const char *interface, const char *address) {
  struct ifreq query;
  struct in6_addr target6;
  struct in_addr target4;
  memset(q, 0, sizeof *q);
  if (strlen(interface) >= sizeof query.ifr_name) wrong_usage();
  if (if_nametoindex(interface) == 0) fail("find that interface");
  memset(&query, 0, sizeof query);
  memcpy(query.ifr_name, interface, strlen(interface));
  const int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("open a packet socket");
  if (ioctl(fd, SIOCGIFHWADDR, &query) != 0) fail("read the interface's MAC address");
  (void)close(fd);
  const unsigned char *const mac = (const unsigned char *)query.ifr_hwaddr.sa_data;
  if (inet_pton(AF_INET6, address, &target6) == 1)
    open_nd(q, interface, &target6, mac);
  else if (inet_pton(AF_INET, address, &target4) == 1)
    open_arp(q, interface, &target4, mac);
  else
    wrong_usage();
  enable_option(q->fd, SOL_SOCKET, SO_TIMESTAMPNS, "ask for receive times");
  enlarge_queue(q->fd);
}

bool ask_all_hosts(const struct question *q) {
  return sendto(q->fd, &q->bytes, q->length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&q->all_hosts,
                q->all_hosts_length) >= 0;
}

static enum statement read_arp(const struct question *q, const struct packet *packet, const unsigned char **mac) {
  struct ether_arp arp;
  struct sockaddr_ll link;
  memcpy(&link, &packet->from, sizeof link);
  if (link.sll_pkttype == PACKET_OUTGOING || packet->length < sizeof arp) return STATEMENT_NONE;
  memcpy(&arp, packet->bytes, sizeof arp);
  if (arp.arp_hrd != htons(ARPHRD_ETHER) || arp.arp_pro != htons(ETHERTYPE_IP) || arp.arp_hln != ETH_ALEN ||
      arp.arp_pln != 4 || memcmp(arp.arp_spa, q->bytes.arp.arp_tpa, 4) != 0)
    return STATEMENT_NONE;
  *mac = packet->bytes + offsetof(struct ether_arp, arp_sha);
  if (memcmp(arp.arp_tpa, arp.arp_spa, 4) == 0) return STATEMENT_ANNOUNCEMENT;
  return arp.arp_op == htons(ARPOP_REPLY) ? STATEMENT_ANSWER : STATEMENT_NONE;
}

/* Without a target link-layer option no cache changes, so the advertisement states nothing. */
static enum statement read_nd(const struct question *q, const struct packet *packet, const unsigned char **mac) {
  struct nd_neighbor_advert advert;
  const unsigned char *const bytes = packet->bytes;
  if (packet->length < sizeof advert) return STATEMENT_NONE;
  memcpy(&advert, bytes, sizeof advert);
  if (advert.nd_na_type != ND_NEIGHBOR_ADVERT ||
      memcmp(&advert.nd_na_target, &q->bytes.nd.header.nd_ns_target, sizeof advert.nd_na_target) != 0)
    return STATEMENT_NONE;
  for (size_t option = sizeof advert; option + 8 <= packet->length && bytes[option + 1] > 0;
       option += 8u * bytes[option + 1]) {
    if (bytes[option] != ND_OPT_TARGET_LINKADDR) continue;
    *mac = bytes + option + 2;
    return (advert.nd_na_flags_reserved & ND_NA_FLAG_SOLICITED) != 0 ? STATEMENT_ANSWER : STATEMENT_ANNOUNCEMENT;
  }
  return STATEMENT_NONE;
}

enum statement read_statement(const struct question *q, const struct packet *packet, const unsigned char **mac) {
  return q->is_ipv6 ? read_nd(q, packet, mac) : read_arp(q, packet, mac);
}
