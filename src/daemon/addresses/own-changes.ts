/**
 * Separates the kernel's confirmations of our own requests (echoes) from changes by other programs. Compared are the
 * exact address, prefix and interface, in order. This file decides only whether a change comes from another program.
 * The view of the network applies every notification, because the notifications have the kernel's order. This file
 * knows nothing about the consequences of a foreign change.
 */
import { familyOf } from '../../wire/address.ts'
import type { AddressStep, PresentAddress } from '../ports.ts'

type Notification = 'addressAdded' | 'addressRemoved'
type Place = Pick<PresentAddress, 'interfaceIndex' | 'address' | 'prefixLength'>

const keyOf = ({ interfaceIndex, address, prefixLength }: Place) => `${interfaceIndex} ${address}/${prefixLength}`

export class OwnChanges {
  readonly #expected = new Map<string, Notification[]>()

  /** Notes that this daemon has changed an address in the kernel, so that the kernel's notification is expected. */
  expect(step: AddressStep): void {
    const key = keyOf(step)
    const kind = step.action === 'add' ? 'addressAdded' : 'addressRemoved'
    this.#expected.set(key, [...(this.#expected.get(key) ?? []), kind])
  }

  /**
   * Tells whether a notification is older than a removal of ours that the kernel has not reported yet. A notification
   * that is older may be a renewal, or another change of an existing address. Until the kernel reports the removal, no
   * address can have been added again.
   */
  isOutdated(kind: Notification, present: PresentAddress): boolean {
    return kind === 'addressAdded' && this.#expected.get(keyOf(present))?.[0] === 'addressRemoved'
  }

  /** Returns true once for every expected notification of the kernel about a change by this daemon. */
  isEcho(kind: Notification, present: PresentAddress): boolean {
    const key = keyOf(present)
    const [next, ...rest] = this.#expectedOf(key, kind, present)
    if (next !== kind) return false
    if (rest.length > 0) this.#expected.set(key, rest)
    else this.#expected.delete(key)
    return true
  }

  /**
   * Returns the notifications that are expected for an address. The kernel reports an added IPv6 address from a work
   * queue. If the address is removed before that queue runs, the addition is never reported. If the daemon waited for
   * that report for ever, a later change by another program would count as its own.
   */
  #expectedOf(key: string, kind: Notification, { address }: PresentAddress): readonly Notification[] {
    const expected = this.#expected.get(key) ?? []
    if (kind !== 'addressRemoved' || familyOf(address) !== 'ipv6') return expected
    const removal = expected.indexOf('addressRemoved')
    const left = removal === -1 ? [] : expected.slice(removal)
    if (left.length > 0) this.#expected.set(key, left)
    else this.#expected.delete(key)
    return left
  }

  /** Forgets all expected notifications after a full read, because the kernel may have dropped them. */
  clear(): void {
    this.#expected.clear()
  }
}
