/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the record that the addon writes for each packet, with libFuzzer and AddressSanitizer: any control messages,
 * any source, any flags. The lengths are those that a kernel would write (CMSG_NXTHDR relies on them). Kinds, sizes and
 * contents come from the fuzzer. No part of Node is linked.
 */
#define _GNU_SOURCE
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../addon/metadata.h"

#ifndef SO_TIMESTAMPNS_NEW
#define SO_TIMESTAMPNS_NEW 64
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
  if (!holds) abort();
}

static const struct {
  int level, type;
} KINDS[] = {{IPPROTO_IP, IP_TTL},           {IPPROTO_IPV6, IPV6_HOPLIMIT},   {IPPROTO_IP, IP_PKTINFO},
             {IPPROTO_IPV6, IPV6_PKTINFO},   {SOL_SOCKET, SO_TIMESTAMPNS},    {SOL_SOCKET, SO_TIMESTAMPNS_NEW},
             {SOL_SOCKET, SO_RXQ_OVFL},      {SOL_SOCKET, SCM_RIGHTS},        {SOL_PACKET, PACKET_AUXDATA},
             {0, 0}};

/*
 * An input has the length of the source, flags and source. After the source, each control message has its kind, its
 * length and its bytes.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  size_t source = data[0], at = 2;
  const uint8_t flags = data[1];
  if (source > size - at) source = size - at;
  if (source > sizeof(struct sockaddr_storage)) source = sizeof(struct sockaddr_storage);
  struct sockaddr_storage *const name = calloc(1, sizeof *name);
  unsigned char *const record = malloc(META_SIZE);
  /* The buffer is exactly as long as the messages. */
  size_t room = 0;
  for (size_t i = at + source; size - i >= 2 && i < size;) {
    const size_t length = data[i + 1] < size - i - 2 ? data[i + 1] : size - i - 2;
    room += CMSG_SPACE(length);
    i += 2 + length;
  }
  unsigned char *const control = calloc(1, room == 0 ? 1 : room);
  require(name != NULL && record != NULL && control != NULL);
  memcpy(name, data + at, source);
  at += source;
  size_t used = 0;
  while (at < size && size - at >= 2) {
    const size_t kind = data[at] % (sizeof KINDS / sizeof *KINDS);
    const size_t length = data[at + 1] < size - at - 2 ? data[at + 1] : size - at - 2;
    struct cmsghdr header;
    memset(&header, 0, sizeof header);
    header.cmsg_len = CMSG_LEN(length);
    header.cmsg_level = KINDS[kind].level;
    header.cmsg_type = KINDS[kind].type;
    memcpy(control + used, &header, sizeof header);
    memcpy(control + used + CMSG_LEN(0), data + at + 2, length);
    used += CMSG_SPACE(length);
    at += 2 + length;
  }
  struct mmsghdr message;
  memset(&message, 0, sizeof message);
  message.msg_len = (unsigned)size;
  message.msg_hdr.msg_name = name;
  message.msg_hdr.msg_namelen = (socklen_t)source;
  message.msg_hdr.msg_control = control;
  message.msg_hdr.msg_controllen = used;
  message.msg_hdr.msg_flags = (flags & 1 ? MSG_TRUNC : 0) | (flags & 2 ? MSG_CTRUNC : 0);
  describe_message(&message, record);
  uint32_t said;
  memcpy(&said, record + META_SOURCE_LENGTH, sizeof said);
  require(said <= META_SOURCE_MAX && said <= source && memcmp(record + META_SOURCE, name, said) == 0);
  memcpy(&said, record + META_FLAGS, sizeof said);
  require(said == (flags & 3u));
  free(control);
  free(record);
  free(name);
  return 0;
}
