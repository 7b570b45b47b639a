/*
 * The observer: asks everybody who has the address (broadcast ARP, or a neighbour solicitation to the solicited-node
 * group), once a tick, and notes every answer and every announcement with its MAC. A kernel that has the address
 * answers, whoever thinks that it should not. Decided here: what is an answer. Refuses to know whose MAC is whose.
 */
#include "gauge.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DRAIN_MAX 4096

/* As RFC 4861 §4.3 lays it out: the target and our link-layer address. */
struct solicitation {
  struct nd_neighbor_solicit header;
  struct nd_opt_hdr option;
  unsigned char mac[ETH_ALEN];
};

struct observer {
  int fd;
  bool is_ipv6;
  struct sockaddr_storage everybody;
  socklen_t everybody_length;
  union {
    struct ether_arp arp;
    struct solicitation nd;
  } question;
  size_t question_length;
};

static uint64_t number_of(const unsigned char *mac) {
  uint64_t value = 0;
  for (int i = 0; i < ETH_ALEN; i++) value = value << 8 | mac[i];
  return value;
}

static void take_arp(const struct observer *o, const struct packet *packet) {
  struct ether_arp arp;
  struct sockaddr_ll link;
  memcpy(&link, &packet->from, sizeof link);
  if (link.sll_pkttype == PACKET_OUTGOING || packet->length < sizeof arp) return;
  memcpy(&arp, packet->bytes, sizeof arp);
  if (arp.arp_hrd != htons(ARPHRD_ETHER) || arp.arp_pro != htons(ETHERTYPE_IP) || arp.arp_hln != ETH_ALEN ||
      arp.arp_pln != 4 || memcmp(arp.arp_spa, o->question.arp.arp_tpa, 4) != 0)
    return;
  if (memcmp(arp.arp_tpa, arp.arp_spa, 4) == 0)
    note(KIND_ANNOUNCED, 0, number_of(arp.arp_sha), packet->at, packet->read_at);
  else if (arp.arp_op == htons(ARPOP_REPLY))
    note(KIND_CLAIM, 0, number_of(arp.arp_sha), packet->at, packet->read_at);
}

/* Without a target link-layer option nobody's cache would follow it, so it is neither. */
static void take_advertisement(const struct observer *o, const struct packet *packet) {
  struct nd_neighbor_advert advert;
  const unsigned char *const bytes = packet->bytes;
  if (packet->length < sizeof advert) return;
  memcpy(&advert, bytes, sizeof advert);
  if (advert.nd_na_type != ND_NEIGHBOR_ADVERT ||
      memcmp(&advert.nd_na_target, &o->question.nd.header.nd_ns_target, sizeof advert.nd_na_target) != 0)
    return;
  for (size_t option = sizeof advert; option + 8 <= packet->length && bytes[option + 1] > 0;
       option += 8u * bytes[option + 1]) {
    if (bytes[option] != ND_OPT_TARGET_LINKADDR) continue;
    const bool asked = (advert.nd_na_flags_reserved & ND_NA_FLAG_SOLICITED) != 0;
    note(asked ? KIND_CLAIM : KIND_ANNOUNCED, 0, number_of(bytes + option + 2), packet->at, packet->read_at);
    return;
  }
}

/* To the solicited-node group (RFC 4291 §2.7.1) from our link-local address, which the kernel chooses. */
static void open_nd(struct observer *o, const char *interface, const struct in6_addr *target, const unsigned char *mac) {
  struct sockaddr_in6 group;
  struct icmp6_filter filter;
  const int hops = 255;
  o->is_ipv6 = true;
  o->fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);
  if (o->fd < 0) fail("open an ICMPv6 socket");
  ICMP6_FILTER_SETBLOCKALL(&filter);
  ICMP6_FILTER_SETPASS(ND_NEIGHBOR_ADVERT, &filter);
  if (setsockopt(o->fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) != 0) fail("choose what to hear");
  if (setsockopt(o->fd, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface)) != 0)
    fail("bind to that interface");
  if (setsockopt(o->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) != 0) fail("set the hop limit");
  memset(&group, 0, sizeof group);
  group.sin6_family = AF_INET6;
  group.sin6_scope_id = if_nametoindex(interface);
  memcpy(group.sin6_addr.s6_addr, "\xff\x02\0\0\0\0\0\0\0\0\0\x01\xff", 13);
  memcpy(group.sin6_addr.s6_addr + 13, target->s6_addr + 13, 3);
  memcpy(&o->everybody, &group, sizeof group);
  o->everybody_length = sizeof group;
  o->question.nd.header.nd_ns_type = ND_NEIGHBOR_SOLICIT;
  memcpy(&o->question.nd.header.nd_ns_target, target, sizeof *target);
  o->question.nd.option.nd_opt_type = ND_OPT_SOURCE_LINKADDR;
  o->question.nd.option.nd_opt_len = 1;
  memcpy(o->question.nd.mac, mac, ETH_ALEN);
  o->question_length = sizeof o->question.nd;
}

static void open_arp(struct observer *o, const char *interface, const struct in_addr *target, const unsigned char *mac) {
  struct sockaddr_ll broadcast;
  memset(&broadcast, 0, sizeof broadcast);
  o->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETHERTYPE_ARP));
  if (o->fd < 0) fail("open a packet socket");
  broadcast.sll_family = AF_PACKET;
  broadcast.sll_protocol = htons(ETHERTYPE_ARP);
  broadcast.sll_ifindex = (int)if_nametoindex(interface);
  broadcast.sll_halen = ETH_ALEN;
  memset(broadcast.sll_addr, 0xff, ETH_ALEN);
  if (bind(o->fd, (const struct sockaddr *)&broadcast, sizeof broadcast) != 0) fail("bind to that interface");
  memcpy(&o->everybody, &broadcast, sizeof broadcast);
  o->everybody_length = sizeof broadcast;
  o->question.arp.arp_hrd = htons(ARPHRD_ETHER);
  o->question.arp.arp_pro = htons(ETHERTYPE_IP);
  o->question.arp.arp_hln = ETH_ALEN;
  o->question.arp.arp_pln = 4;
  o->question.arp.arp_op = htons(ARPOP_REQUEST);
  /* Sender 0.0.0.0 (RFC 5227 §2.1.1): nobody's cache takes anything from the observer. */
  memcpy(o->question.arp.arp_sha, mac, ETH_ALEN);
  memcpy(o->question.arp.arp_tpa, target, 4);
  o->question_length = sizeof o->question.arp;
}

static void open_observer(struct observer *o, const char *interface, const char *address) {
  struct ifreq query;
  struct in6_addr target6;
  struct in_addr target4;
  memset(o, 0, sizeof *o);
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
    open_nd(o, interface, &target6, mac);
  else if (inet_pton(AF_INET, address, &target4) == 1)
    open_arp(o, interface, &target4, mac);
  else
    wrong_usage();
  enable(o->fd, SOL_SOCKET, SO_TIMESTAMPNS, "ask for receive times");
  enlarge_queue(o->fd);
}

int ask(const char *interface, const char *address, nanos interval) {
  struct observer o;
  struct packet packet;
  open_observer(&o, interface, address);
  const bool fifo = become_fifo();
  const int signals = end_signals();
  const nanos began = now();
  uint64_t sequence = 0;
  nanos due = began;
  struct pollfd watched[2] = {{.fd = open_ticks(began + interval, interval), .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  note(KIND_BEGIN, fifo ? 1 : 0, 0, began, interval);
  for (;;) {
    if (poll(watched, 2, 100) < 0 && errno != EINTR) fail("poll");
    /* What has come belongs to the question before. */
    for (int i = 0; i < DRAIN_MAX && take(o.fd, &packet); i++) {
      if (o.is_ipv6)
        take_advertisement(&o, &packet);
      else
        take_arp(&o, &packet);
    }
    if (watched[1].revents != 0) close_journal();
    const uint64_t ticked = expired(watched[0].fd);
    const nanos first = due + interval; /* of the ticks that nothing was done at */
    due += (nanos)ticked * interval;
    if (ticked > 0) {
      const nanos at = now();
      const ssize_t sent = sendto(o.fd, &o.question, o.question_length, MSG_DONTWAIT | MSG_NOSIGNAL,
                                  (const struct sockaddr *)&o.everybody, o.everybody_length);
      note(KIND_ASKED, sent < 0 ? (uint32_t)errno : 0, sequence++, at, first);
    }
    hand_on(now());
  }
}
