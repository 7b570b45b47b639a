/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sender of a received packet of protocol 112. Any host of the LAN can send any bytes. */
#ifndef GUARDIAN_CLOCK_SENDER_H
#define GUARDIAN_CLOCK_SENDER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Bytes of a packet that are read: an IPv4 header with options, and the beginning of the VRRP header. */
#define SENDER_MAX 64u

struct sender {
  uint32_t interface;
  uint8_t family;
  uint8_t vrid;
  unsigned char source[16];
};

/* Reads the interface. Returns the number of packets that the kernel has dropped so far; 0 until the first. */
uint32_t read_control(struct msghdr *header, struct sender *sender);

/*
 * Reads source and VRID of a packet of `length` bytes, of which at most SENDER_MAX are there. The family is known. Returns
 * false if the packet is too short to have a VRID.
 */
bool read_packet(const unsigned char *bytes, size_t length, const struct sockaddr_in6 *name, struct sender *sender);

#endif
