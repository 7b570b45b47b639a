/**
 * Which of the kernel's address notifications are echoes of our own requests, told apart from somebody else's changes
 * by exact address, prefix and interface, first in first out. Only whether a change is *called* foreign is decided here;
 * the view follows every notification, because their order is the kernel's. Refuses to know what a foreign change
 * leads to.
 */
import { familyOf } from '../../wire/address.ts'
import type { AddressStep, PresentAddress } from '../ports.ts'

type Notification = 'addressAdded' | 'addressRemoved'
type Place = Pick<PresentAddress, 'interfaceIndex' | 'address' | 'prefixLength'>

const keyOf = ({ interfaceIndex, address, prefixLength }: Place) => `${interfaceIndex} ${address}/${prefixLength}`

export class OwnChanges {
  readonly #expected = new Map<string, Notification[]>()

  /** A step that changed something in the kernel. */
  expect(step: AddressStep): void {
    const key = keyOf(step)
    const kind = step.action === 'add' ? 'addressAdded' : 'addressRemoved'
    this.#expected.set(key, [...(this.#expected.get(key) ?? []), kind])
  }

  /**
   * A renewal, or any other change in place, from before a removal of ours of which we have not been told yet: nothing can
   * be added in between without that.
   */
  isOutdated(kind: Notification, present: PresentAddress): boolean {
    return kind === 'addressAdded' && this.#expected.get(keyOf(present))?.[0] === 'addressRemoved'
  }

  /** True once for every expected notification, in the order in which they were caused. */
  isEcho(kind: Notification, present: PresentAddress): boolean {
    const key = keyOf(present)
    const [next, ...rest] = this.#expectedOf(key, kind, present)
    if (next !== kind) return false
    if (rest.length > 0) this.#expected.set(key, rest)
    else this.#expected.delete(key)
    return true
  }

  /**
   * The kernel tells of an added IPv6 address from a work queue: removed before that ran, it is never told of. Waiting
   * for that notification for ever would take a later change of somebody else for our own.
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

  /** After a new look at the whole node: what was on its way may have been lost. */
  clear(): void {
    this.#expected.clear()
  }
}
