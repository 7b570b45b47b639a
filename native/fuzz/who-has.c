/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what holdfast-probe reads in packets that any host of the LAN may send (ARP and Neighbor Discovery), with
 * libFuzzer and AddressSanitizer. An input has the number of the protocol, then the packet.
 */
#include <netpacket/packet.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

#include "../common/who-has.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void fail(const char *action) {
  (void)action;
  abort();
}
void wrong_usage(void) {
  abort();
}

void enable_option(int fd, int level, int option, const char *action) {
  (void)fd, (void)level, (void)option, (void)action;
  abort();
}
void enlarge_queue(int fd) {
  (void)fd;
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct question question;
  static struct packet packet;
  if (size < 2) return 0;
  const size_t length = size - 2 < PACKET_MAX ? size - 2 : PACKET_MAX;
  struct sockaddr_ll link;
  memset(&question, 0, sizeof question);
  memset(&link, 0, sizeof link);
  question.is_ipv6 = data[0] % 2 == 1;
  link.sll_pkttype = data[1] % 5;
  memcpy(&packet.from, &link, sizeof link);
  memcpy(packet.bytes, data + 2, length);
  packet.length = length;
  /* The question asks for the address that the packet is about, if the packet is long enough to have one. */
  if (question.is_ipv6 && length >= 24) memcpy(&question.bytes.nd.header.nd_ns_target, packet.bytes + 8, 16);
  if (!question.is_ipv6 && length >= 18) memcpy(question.bytes.arp.arp_tpa, packet.bytes + 14, 4);
  ASAN_POISON_MEMORY_REGION(packet.bytes + length, PACKET_MAX - length);
  const unsigned char *mac = NULL;
  volatile unsigned char sum = 0;
  if (read_statement(&question, &packet, &mac) != STATEMENT_NONE) {
    if (mac < packet.bytes || mac + ETH_ALEN > packet.bytes + length) abort();
    for (size_t i = 0; i < ETH_ALEN; i++) sum = (unsigned char)(sum + mac[i]);
  }
  ASAN_UNPOISON_MEMORY_REGION(packet.bytes, sizeof packet.bytes);
  return 0;
}
