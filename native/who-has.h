/*
 * The question to everybody who has an address (broadcast ARP, or a neighbour solicitation to the solicited-node group),
 * and what is an answer to it. A kernel that has the address answers, whoever thinks that it should not. Refuses to know
 * whose MAC is whose.
 */
#ifndef WHO_HAS_H
#define WHO_HAS_H

#include "instrument.h"

#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>

/* As RFC 4861 §4.3 lays it out: the target and our link-layer address. */
struct solicitation {
  struct nd_neighbor_solicit header;
  struct nd_opt_hdr option;
  unsigned char mac[ETH_ALEN];
};

struct question {
  int fd;
  bool is_ipv6;
  struct sockaddr_storage everybody;
  socklen_t everybody_length;
  union {
    struct ether_arp arp;
    struct solicitation nd;
  } bytes;
  size_t length;
};

enum said {
  SAID_NOTHING,
  SAID_CLAIM,        /* an answer */
  SAID_ANNOUNCEMENT, /* a gratuitous ARP, an unsolicited advertisement */
};

void open_question(struct question *question, const char *interface, const char *address);
/* False with errno. */
bool ask_everybody(const struct question *question);
/* What a packet of its socket says of the address, and of which MAC (within the packet). */
enum said said_of(const struct question *question, const struct packet *packet, const unsigned char **mac);

#endif
