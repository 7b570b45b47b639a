/**
 * Removes virtual addresses that no router of this run has installed. An earlier run may have left them (ground rule
 * 4), a reload may have made them virtual, or another program may have added them elsewhere. An address that cannot be
 * removed stays in the ledger. The module sweep.ts decides which addresses are stale. The caller decides when to look
 * for them.
 */
import type { Config } from '../../config/config.ts'
import { LOG } from '../../log/log.ts'
import type { Address } from '../../wire/address.ts'
import type { Writer } from '../effect-runner.ts'
import type { Registry } from '../router/registry.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { AddressLedger, AddressMemory, LedgerEntry } from './ledger.ts'
import type { Leftovers } from './leftovers.ts'
import type { NetworkView } from './network-view.ts'
import { addressesLeftInPlace, isAsInstalled, ownedAddresses, sweepSteps, virtualAddresses } from './sweep.ts'

export type StaleAddressesContext = {
  readonly view: NetworkView
  readonly registry: Pick<Registry, 'all' | 'heldByDeparting'>
  readonly memory: Pick<AddressMemory, 'read'>
  readonly ledger: AddressLedger
  readonly recorder: Recorder
  readonly writer: Writer
}

export class StaleAddresses {
  readonly #context: StaleAddressesContext

  constructor(context: StaleAddressesContext) {
    this.#context = context
  }

  /**
   * Removes configured VIPs wherever they are, and other addresses of the ledger only in the installed form. Returns
   * true if at least one was found. Leaves the addresses of `spared`, which an engine that crashed has handed over.
   */
  sweep(config: Config, spared: ReadonlySet<Address> = new Set()): boolean {
    const { memory, recorder } = this.#context
    const { entries, problem } = memory.read()
    if (problem !== undefined) recorder.log(LOG.ledgerNotRead, problem)
    const isSwept = (address: Address) => !spared.has(address)
    const vips = new Set([...virtualAddresses(config)].filter(isSwept))
    const ledger = entries.filter(({ address }) => isSwept(address))
    return this.#remove(config, ledger, vips, 'an earlier run of holdfast installed it and did not remove it')
  }

  /** Removes VIPs that were spared in the sweep, because their router was not adopted. */
  sweepRefused(config: Config, refused: ReadonlySet<Address>): void {
    if (refused.size > 0) this.#remove(config, [], refused, 'the crashed engine installed it and did not remove it')
  }

  /**
   * Removes VIPs that a reload has added to the configuration and that this node already has. No router of this daemon
   * has installed these VIPs.
   */
  sweepNew(before: Config, config: Config): void {
    const known = virtualAddresses(before)
    const held = this.#context.registry.heldByDeparting()
    const fresh = [...virtualAddresses(config)].filter((address) => !known.has(address) && !held.has(address))
    this.#remove(config, [], new Set(fresh), 'a reload made it a VIP')
  }

  /**
   * Removes addresses of routers without an interface. This node must not answer for them on another interface, or
   * before a source address exists.
   */
  sweepHomeless(config: Config, addresses: Iterable<Address>): void {
    const placed = this.#context.registry.all.filter(({ io }) => io !== undefined)
    const inUse = new Set(placed.flatMap(({ parameters }) => parameters.addresses))
    const vips = new Set([...addresses].filter((address) => !inUse.has(address)))
    this.#remove(config, [], vips, 'it is a VIP of a router without an interface')
  }

  /**
   * Removes entries from the ledger after a clean stop, except those of addresses that could not be removed. Every
   * other address may become the node's own before the next start.
   */
  forgetRemoved(config: Config, leftovers: Pick<Leftovers, 'has'>): void {
    const { ledger, view } = this.#context
    const vips = virtualAddresses(config)
    const isManaged = (address: Address) => vips.has(address) || leftovers.has(address)
    ledger.retain(
      (entry) => isManaged(entry.address) && view.where(entry.address).some((each) => isAsInstalled(view, each, entry)),
    )
  }

  /** Removes the stale addresses. Returns true if at least one was found. */
  #remove(config: Config, entries: readonly LedgerEntry[], vips: ReadonlySet<Address>, why: string): boolean {
    const { ledger, recorder, view, writer } = this.#context
    const failed: LedgerEntry[] = []
    const sweep = { view, ledger: entries, vips, owned: ownedAddresses(config) }
    for (const { address, interfaceIndex, prefixLength } of addressesLeftInPlace(sweep)) {
      const name = view.link(interfaceIndex)?.name
      recorder.log(
        LOG.staleAddressLeft,
        `Left ${address}/${prefixLength} on ${name}: an earlier run installed it, but ${name} has no other own address; ` +
          "remove it if it is not the node's own",
        { address },
      )
    }
    const steps = sweepSteps(sweep)
    for (const { step, ...outcome } of writer.apply(steps)) {
      const name = view.link(step.interfaceIndex)?.name ?? String(step.interfaceIndex)
      const where = `${step.address}/${step.prefixLength} on ${name}`
      if (outcome.ok) recorder.log(LOG.staleAddressRemoved, `Removed ${where}: ${why}`, { address: step.address })
      else {
        recorder.log(LOG.staleAddressNotRemoved, `Cannot remove ${where}: ${outcome.failure.message}`, {
          address: step.address,
        })
        failed.push({ address: step.address, prefixLength: step.prefixLength, interfaceName: name })
      }
    }
    ledger.add(failed)
    return steps.length > 0
  }
}
