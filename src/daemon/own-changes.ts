/**
 * Which of the kernel's address notifications are echoes of our own requests, told apart from somebody else's changes
 * by exact address, prefix and interface, first in first out. Only whether a change is *called* foreign is decided here;
 * the view follows every notification, because their order is the kernel's. Refuses to know what a foreign change
 * leads to.
 */
import type { AddressStep, PresentAddress } from './ports.ts'

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

  /** True once for every expected notification, in the order in which they were caused. */
  isEcho(kind: Notification, present: PresentAddress): boolean {
    const key = keyOf(present)
    const [next, ...rest] = this.#expected.get(key) ?? []
    if (next !== kind) return false
    if (rest.length > 0) this.#expected.set(key, rest)
    else this.#expected.delete(key)
    return true
  }

  /** After a new look at the whole node: what was on its way may have been lost. */
  clear(): void {
    this.#expected.clear()
  }
}
