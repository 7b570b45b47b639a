/**
 * Tells echoes of our own requests among the kernel's address notifications from changes of other programs, by exact
 * address, prefix and interface, first in first out. Decides only whether a change is called foreign; the view follows
 * every notification, because their order is the kernel's. Refuses to know what a foreign change leads to.
 */
import { familyOf } from '../../wire/address.ts'
import type { AddressStep, PresentAddress } from '../ports.ts'

type Notification = 'addressAdded' | 'addressRemoved'
type Place = Pick<PresentAddress, 'interfaceIndex' | 'address' | 'prefixLength'>

const keyOf = ({ interfaceIndex, address, prefixLength }: Place) => `${interfaceIndex} ${address}/${prefixLength}`

export class OwnChanges {
  readonly #expected = new Map<string, Notification[]>()

  /** Expects the notification of a step that changed something in the kernel. */
  expect(step: AddressStep): void {
    const key = keyOf(step)
    const kind = step.action === 'add' ? 'addressAdded' : 'addressRemoved'
    this.#expected.set(key, [...(this.#expected.get(key) ?? []), kind])
  }

  /**
   * Reports whether it is a renewal, or another change in place, from before a removal of ours that the kernel has not
   * reported yet: nothing can be added in between without that report.
   */
  isOutdated(kind: Notification, present: PresentAddress): boolean {
    return kind === 'addressAdded' && this.#expected.get(keyOf(present))?.[0] === 'addressRemoved'
  }

  /** Returns true once for every expected notification, in the order in which they were caused. */
  isEcho(kind: Notification, present: PresentAddress): boolean {
    const key = keyOf(present)
    const [next, ...rest] = this.#expectedOf(key, kind, present)
    if (next !== kind) return false
    if (rest.length > 0) this.#expected.set(key, rest)
    else this.#expected.delete(key)
    return true
  }

  /**
   * The kernel reports an added IPv6 address from a work queue: an address that was removed before that ran is never
   * reported. Waiting for that report for ever would take a later foreign change for our own.
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

  /** Forgets all, after a new look at the whole node: what was on its way may have been lost. */
  clear(): void {
    this.#expected.clear()
  }
}
