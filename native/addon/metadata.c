/* SPDX-License-Identifier: Apache-2.0 */
/* Reads source, flags and control messages of a packet into the record of metadata.h. */
#define _GNU_SOURCE
#include "metadata.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef SO_TIMESTAMPNS_NEW
#define SO_TIMESTAMPNS_NEW 64
#endif

static void put(unsigned char *record, size_t offset, const void *value, size_t length) {
  memcpy(record + offset, value, length);
}

static void put_u32(unsigned char *record, size_t offset, uint32_t value) {
  put(record, offset, &value, sizeof value);
}

/* Each of the functions below ignores a control message of another kind, and a message that is too short. */

static void read_ipv4(int type, const unsigned char *value, size_t length, unsigned char *record) {
  if (type == IP_TTL && length >= sizeof(int)) {
    put(record, META_TTL, value, sizeof(int32_t));
    return;
  }
  if (type != IP_PKTINFO || length < sizeof(struct in_pktinfo)) return;
  struct in_pktinfo packet;
  memcpy(&packet, value, sizeof packet);
  put_u32(record, META_IFINDEX, (uint32_t)packet.ipi_ifindex);
  put(record, META_DESTINATION, &packet.ipi_addr, sizeof packet.ipi_addr);
}

static void read_ipv6(int type, const unsigned char *value, size_t length, unsigned char *record) {
  if (type == IPV6_HOPLIMIT && length >= sizeof(int)) {
    put(record, META_TTL, value, sizeof(int32_t));
    return;
  }
  if (type != IPV6_PKTINFO || length < sizeof(struct in6_pktinfo)) return;
  struct in6_pktinfo packet;
  memcpy(&packet, value, sizeof packet);
  put_u32(record, META_IFINDEX, packet.ipi6_ifindex);
  put(record, META_DESTINATION, &packet.ipi6_addr, sizeof packet.ipi6_addr);
}

static void read_any(int type, const unsigned char *value, size_t length, unsigned char *record) {
  if ((type == SO_TIMESTAMPNS || type == SO_TIMESTAMPNS_NEW) && length >= 2 * sizeof(int64_t)) {
    int64_t stamp[2];
    memcpy(stamp, value, sizeof stamp);
    const double ms = (double)stamp[0] * 1e3 + (double)stamp[1] / 1e6;
    put(record, META_REALTIME, &ms, sizeof ms);
    return;
  }
  if (type != SO_RXQ_OVFL || length < sizeof(uint32_t)) return;
  put(record, META_OVERFLOW, value, sizeof(uint32_t));
}

static void read_link(int type, const unsigned char *value, size_t length, unsigned char *record) {
  if (type != PACKET_AUXDATA || length < sizeof(struct tpacket_auxdata)) return;
  struct tpacket_auxdata aux;
  memcpy(&aux, value, sizeof aux);
  if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0) return;
  const uint32_t protocol = (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? aux.tp_vlan_tpid : ETH_P_8021Q;
  put_u32(record, META_VLAN, protocol << 16 | aux.tp_vlan_tci);
}

static void read_control(struct msghdr *header, unsigned char *record) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
    const unsigned char *value = CMSG_DATA(c);
    const size_t length = c->cmsg_len - CMSG_LEN(0);
    if (c->cmsg_level == IPPROTO_IP)
      read_ipv4(c->cmsg_type, value, length, record);
    else if (c->cmsg_level == IPPROTO_IPV6)
      read_ipv6(c->cmsg_type, value, length, record);
    else if (c->cmsg_level == SOL_SOCKET)
      read_any(c->cmsg_type, value, length, record);
    else if (c->cmsg_level == SOL_PACKET)
      read_link(c->cmsg_type, value, length, record);
  }
}

void describe_message(struct mmsghdr *message, unsigned char *record) {
  struct msghdr *header = &message->msg_hdr;
  const int32_t unknown = -1;
  uint32_t flags = 0;
  if ((header->msg_flags & MSG_TRUNC) != 0) flags |= FLAG_TRUNCATED;
  if ((header->msg_flags & MSG_CTRUNC) != 0) flags |= FLAG_CONTROL_TRUNCATED;
  memset(record, 0, META_SIZE);
  put_u32(record, META_LENGTH, message->msg_len);
  put_u32(record, META_FLAGS, flags);
  put(record, META_TTL, &unknown, sizeof unknown);
  uint32_t source = header->msg_namelen;
  if (source > META_SOURCE_MAX) source = META_SOURCE_MAX;
  put_u32(record, META_SOURCE_LENGTH, source);
  put(record, META_SOURCE, header->msg_name, source);
  const struct sockaddr_storage *name = header->msg_name;
  if (header->msg_namelen >= offsetof(struct sockaddr_ll, sll_addr) && name->ss_family == AF_PACKET) {
    struct sockaddr_ll link;
    memcpy(&link, name, sizeof link);
    put_u32(record, META_IFINDEX, (uint32_t)link.sll_ifindex);
    put(record, META_PKTTYPE, &link.sll_pkttype, sizeof link.sll_pkttype);
  }
  read_control(header, record);
}
