/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks all hosts of a LAN which of them has an address: broadcast ARP, or a Neighbor Solicitation to the solicited-node
 * group. Decides what counts as an answer. A kernel that has the address answers, whatever its daemon assumes. Does not
 * know which MAC belongs to which host.
 */
#ifndef WHO_HAS_H
#define WHO_HAS_H

#include "instrument.h"

#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>

/* RFC 4861 §4.3: the target, and our link-layer address. */
struct solicitation {
  struct nd_neighbor_solicit header;
  struct nd_opt_hdr option;
  unsigned char mac[ETH_ALEN];
};

struct question {
  int fd;
  bool is_ipv6;
  struct sockaddr_storage all_hosts;
  socklen_t all_hosts_length;
  union {
    struct ether_arp arp;
    struct solicitation nd;
  } bytes;
  size_t length;
};

enum statement {
  STATEMENT_NONE,
  STATEMENT_ANSWER,
  STATEMENT_ANNOUNCEMENT, /* a gratuitous ARP, or an unsolicited advertisement */
};

void open_question(struct question *question, const char *interface, const char *address);
/* Sends the question to all hosts. Returns false with errno. */
bool ask_all_hosts(const struct question *question);
/* Returns what a packet of the question's socket states about the address. `mac` then points into the packet. */
enum statement read_statement(const struct question *question, const struct packet *packet, const unsigned char **mac);

#endif
