/**
 * Converts the kernel's address flags (IFA_F_… of linux/if_addr.h) to text for log lines. Netlink reports nothing else
 * about the program that added an address. No decision is made here.
 */
const NAMES: readonly (readonly [bit: number, name: string])[] = [
  [0x01, 'secondary'],
  [0x02, 'nodad'],
  [0x04, 'optimistic'],
  [0x08, 'dadfailed'],
  [0x20, 'deprecated'],
  [0x40, 'tentative'],
  [0x80, 'permanent'],
  [0x100, 'mngtmpaddr'],
  [0x200, 'noprefixroute'],
  [0x800, 'stable-privacy'],
]

export const addressFlags = (flags: number): string =>
  NAMES.flatMap(([bit, name]) => ((flags & bit) === 0 ? [] : [name])).join(' ')
