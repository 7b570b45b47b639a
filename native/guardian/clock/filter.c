/* SPDX-License-Identifier: Apache-2.0 */
/* See filter.h. */
#include "filter.h"

#include <linux/filter.h>
#include <stdint.h>
#include <sys/socket.h>

#include "sockets.h"

#define VRIDS 256u
#define WORDS (VRIDS / 32)
#define WHOLE 0x40000u /* more than the length of any packet */
#define PROGRAM_MAX 40u

/* Orders with each VRID, by family: 0 = IPv4, 1 = IPv6. */
static uint32_t users[2][VRIDS];

static unsigned index_of(uint8_t family) {
  return family == 4 ? 0 : 1;
}

/*
 * Writes a program that reads the VRID, octet 1 of the VRRP header. An IPv4 socket has the IP header in front of the VRRP
 * header, an IPv6 socket has not. The program then looks for the VRID's bit in eight words, and accepts the packet if the bit is set.
 */
static uint16_t write_program(struct sock_filter *program, uint8_t family) {
  const uint32_t *const counts = users[index_of(family)];
  struct sock_filter *at = program;
  *at++ = family == 4 ? (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0)
                      : (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 0);
  *at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_IND, 1);
  *at++ = (struct sock_filter)BPF_STMT(BPF_ST, 0);
  *at++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 31);
  *at++ = (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0);
  *at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, 0);
  *at++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 5);
  for (uint32_t word = 0; word < WORDS; word++) {
    uint32_t bits = 0;
    for (uint32_t bit = 0; bit < 32; bit++)
      if (counts[word * 32 + bit] != 0) bits |= UINT32_C(1) << bit;
    const uint32_t left = 3 * (WORDS - 1 - word); /* instructions of the words behind this one */
    *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0, 2);
    *at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, bits);
    *at++ = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, left);
  }
  *at++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_X, 0);
  *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1);
  *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, WHOLE);
  *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
  return (uint16_t)(at - program);
}

static bool attach_filter(uint8_t family) {
  struct sock_filter instructions[PROGRAM_MAX];
  const struct sock_fprog program = {write_program(instructions, family), instructions};
  return setsockopt(raw_socket_of(family), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

/* Without a socket there is nothing to accept, and no frame of the order leaves either. */
bool accept_vrid(const struct order *order) {
  uint32_t *const count = &users[index_of(order->family)][order->vrid];
  if (++*count > 1 || raw_socket_of(order->family) < 0 || attach_filter(order->family)) return true;
  --*count;
  return false;
}

/* A filter that the kernel refuses here stays too wide, which costs wake-ups only. */
void release_vrid(const struct order *order) {
  uint32_t *const count = &users[index_of(order->family)][order->vrid];
  if (--*count == 0) (void)attach_filter(order->family);
}
