/**
 * Which of the kernel's address notifications are echoes of our own requests, told apart from somebody else's changes
 * by exact address, prefix and interface, first in first out. The view is changed when a request succeeds, so an echo
 * has nothing left to say. Refuses to know what a foreign change leads to.
 */
import type { AddressStep, PresentAddress } from './ports.ts'

type Notification = 'addressAdded' | 'addressRemoved'
type Place = Pick<PresentAddress, 'interfaceIndex' | 'address' | 'prefixLength'>

const keyOf = ({ interfaceIndex, address, prefixLength }: Place) => `${interfaceIndex} ${address}/${prefixLength}`

export class OwnChanges {
  readonly #expected = new Map<string, Notification[]>()

  /** A step that succeeded. `known`: the view had the address before; then adding it notifies nobody. */
  expect(step: AddressStep, known: boolean): void {
    if (known === (step.action === 'add')) return
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
