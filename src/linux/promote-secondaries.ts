/**
 * Keeps the node's own addresses when a VIP with a written prefix is removed. Without `promote_secondaries`, Linux
 * removes every secondary IPv4 address of a network with the primary one, and a VIP that came first is the primary one.
 * The setting is changed over rtnetlink, because /proc/sys is read-only under the systemd unit and in a container.
 * Other files decide which addresses are installed.
 */
import { readFileSync } from 'node:fs'
import type { AddressStep, NameOf } from '../daemon/ports.ts'
import { familyOf } from '../wire/address.ts'
import { NLM_F_ACK, request, words } from './netlink/frame.ts'
import type { MakeRequest } from './netlink/socket.ts'

const RTM_SETLINK = 19
const IFLA_AF_SPEC = 26
const AF_INET = 2
const IFLA_INET_CONF = 1
const IPV4_DEVCONF_PROMOTE_SECONDARIES = 20

/** Returns the request that sets one IPv4 setting of one interface, which `ip link set` cannot do. */
export function promoteRequest(interfaceIndex: number, value: 0 | 1, sequence: number): Uint8Array {
  const inside = (type: number, length: number) => length | (type << 16)
  // IFLA_AF_SPEC { AF_INET { IFLA_INET_CONF { setting: value } } }
  const nested = words(
    inside(AF_INET, 16),
    inside(IFLA_INET_CONF, 12),
    inside(IPV4_DEVCONF_PROMOTE_SECONDARIES, 8),
    value,
  )
  return request(RTM_SETLINK, NLM_F_ACK, sequence, words(0, interfaceIndex, 0, 0), [
    { type: IFLA_AF_SPEC, value: nested },
  ])
}

export type PromotePorts = {
  ask(requests: readonly MakeRequest[]): readonly number[]
  /** Reads the setting promote_secondaries of an interface. Returns `undefined` if it cannot be read. */
  read(interfaceName: string): string | undefined
  onProblem(message: string): void
}

export class PromoteSecondaries {
  readonly #ports: PromotePorts
  /** Interfaces by index: true if promote_secondaries was 0 before and is 1 now. */
  readonly #seen = new Map<number, boolean>()

  constructor(ports: PromotePorts) {
    this.#ports = ports
  }

  /**
   * Sets promote_secondaries before an address is added or removed. A removal needs it, too: an earlier run may have
   * added the address without the setting.
   */
  prepare({ address, interfaceIndex, prefixLength }: AddressStep, nameOf: NameOf): void {
    if (prefixLength === 32 || familyOf(address) !== 'ipv4' || this.#seen.has(interfaceIndex)) return
    const name = nameOf(interfaceIndex)
    if (name === undefined) return
    const { ask, onProblem, read } = this.#ports
    const before = read(name)
    this.#seen.set(interfaceIndex, false)
    if (before === '1' || read('all') === '1') return
    const [errno] = ask([(sequence) => promoteRequest(interfaceIndex, 1, sequence)])
    if (errno === 0) this.#seen.set(interfaceIndex, before === '0')
    else
      onProblem(
        `net.ipv4.conf.${name}.promote_secondaries is 0 and cannot be set (errno ${errno}): when ${address}/${prefixLength} ` +
          'leaves, Linux may remove other addresses of that network; set it to 1, or write the VIP as /32',
      )
  }

  /**
   * Restores promote_secondaries of each interface that this run has changed. To be called after the last VIP is
   * removed.
   */
  restore(): void {
    const changed = [...this.#seen].filter(([, was]) => was)
    this.#seen.clear()
    // A deleted interface has lost its setting, so nothing can be restored.
    if (changed.length > 0)
      this.#ports.ask(
        changed.map(
          ([index]) =>
            (sequence) =>
              promoteRequest(index, 0, sequence),
        ),
      )
  }
}

/** Returns the setting promote_secondaries of an interface, or of `all`. */
export function readPromoteSecondaries(interfaceName: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/net/ipv4/conf/${interfaceName}/promote_secondaries`, 'utf8').trim()
  } catch {
    return undefined
  }
}
