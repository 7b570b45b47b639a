/**
 * Adds and removes addresses in the kernel, for all parts of the engine. The view of the network is updated at once
 * with a change, before the kernel's notification arrives. The notifications that a change will cause are remembered.
 * This file knows nothing about why an address is wanted.
 */
import { familyOf } from '../../wire/address.ts'
import type { AddressOutcome, AddressStep, NetworkPort } from '../ports.ts'
import type { NetworkView } from './network-view.ts'
import type { OwnChanges } from './own-changes.ts'

export class AddressWriter {
  readonly #network: Pick<NetworkPort, 'apply'>
  readonly #view: NetworkView
  readonly #ownChanges: OwnChanges

  constructor(network: Pick<NetworkPort, 'apply'>, view: NetworkView, ownChanges: OwnChanges) {
    this.#network = network
    this.#view = view
    this.#ownChanges = ownChanges
  }

  /** Adds and removes addresses in the kernel. Returns one outcome for each address change, in their order. */
  apply(steps: readonly AddressStep[]): readonly AddressOutcome[] {
    if (steps.length === 0) return []
    const outcomes = this.#network.apply(steps, (index) => this.#view.link(index)?.name)
    for (const outcome of outcomes) this.#remember(outcome)
    return outcomes
  }

  #remember(outcome: AddressOutcome): void {
    if (!outcome.ok) return
    const { action, interfaceIndex, address, prefixLength } = outcome.step
    if (outcome.changed) this.#ownChanges.expect(outcome.step)
    // The address was in the kernel already, and the view has the kernel's own report of this address, with its flags.
    else if (action === 'add' && this.#view.has(outcome.step)) return
    // Updates the view of the network for readers within this turn, until the kernel's notification arrives.
    const kind = action === 'add' ? 'addressAdded' : 'addressRemoved'
    // An IPv6 address is not reachable before the kernel reports it (lan/announcer.ts).
    const tentative = action === 'add' && outcome.changed && familyOf(address) === 'ipv6'
    this.#view.apply({ kind, present: { interfaceIndex, address, prefixLength, tentative } })
  }
}
