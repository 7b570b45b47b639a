/**
 * Removes virtual addresses that no router of ours has installed: left by an earlier run (ground rule 4), here before a reload
 * made them virtual, or added where their router is not. An address that cannot be removed stays in the ledger. Which ones
 * are stale is sweep.ts's; refuses to know when to look.
 */
import type { Config } from '../../config/config.ts'
import type { Address } from '../../wire/address.ts'
import type { Writer } from '../effect-runner.ts'
import type { Registry } from '../router/registry.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { AddressLedger, AddressMemory, LedgerEntry } from './ledger.ts'
import type { Leftovers } from './leftovers.ts'
import type { NetworkView } from './network-view.ts'
import { isAsInstalled, ownedAddresses, sparedAddresses, sweepSteps, virtualAddresses } from './sweep.ts'

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
   * Removes configured VIPs by address, wherever they are; others in the ledger only exactly as they were installed. Returns
   * whether there were any.
   */
  sweep(config: Config): boolean {
    const { memory, recorder } = this.#context
    const { entries, problem } = memory.read()
    if (problem !== undefined) recorder.log('warn', problem)
    return this.#remove(config, entries, virtualAddresses(config), 'left by an earlier life')
  }

  /** Removes VIPs that came with a reload and are here already: no router of ours has installed them. */
  sweepNew(before: Config, config: Config): void {
    const known = virtualAddresses(before)
    const held = this.#context.registry.heldByDeparting()
    const fresh = [...virtualAddresses(config)].filter((address) => !known.has(address) && !held.has(address))
    this.#remove(config, [], new Set(fresh), 'it is a virtual address now')
  }

  /** Removes addresses of routers that run nowhere: they must not be answered on another interface, nor before there is a source. */
  sweepHomeless(config: Config, addresses: Iterable<Address>): void {
    const placed = this.#context.registry.all.filter(({ io }) => io !== undefined)
    const kept = new Set(placed.flatMap(({ parameters }) => parameters.addresses))
    const vips = new Set([...addresses].filter((address) => !kept.has(address)))
    this.#remove(config, [], vips, 'it is a virtual address')
  }

  /**
   * Call it after the last removal of a clean stop. The ledger keeps only what could not be removed: every other address may
   * become the node's own before the next start.
   */
  forgetRemoved(config: Config, leftovers: Pick<Leftovers, 'has'>): void {
    const { ledger, view } = this.#context
    const vips = virtualAddresses(config)
    const isManaged = (address: Address) => vips.has(address) || leftovers.has(address)
    ledger.retain(
      (entry) => isManaged(entry.address) && view.where(entry.address).some((each) => isAsInstalled(view, each, entry)),
    )
  }

  /** Returns whether there was an address to remove. */
  #remove(config: Config, entries: readonly LedgerEntry[], vips: ReadonlySet<Address>, why: string): boolean {
    const { ledger, recorder, view, writer } = this.#context
    const failed: LedgerEntry[] = []
    const sweep = { view, ledger: entries, vips, owned: ownedAddresses(config) }
    for (const { address, interfaceIndex, prefixLength } of sparedAddresses(sweep)) {
      const name = view.link(interfaceIndex)?.name
      recorder.log(
        'warn',
        `Left ${address}/${prefixLength} on ${name}: an earlier run installed it, but ${name} has no other own address; ` +
          "remove it if it is not the node's own",
        { address },
      )
    }
    const steps = sweepSteps(sweep)
    for (const { step, ...outcome } of writer.apply(steps)) {
      const name = view.link(step.interfaceIndex)?.name ?? String(step.interfaceIndex)
      const where = `${step.address}/${step.prefixLength} on ${name}`
      if (outcome.ok) recorder.log('warn', `Removed ${where}: ${why}`, { address: step.address })
      else {
        recorder.log('error', `Cannot remove ${where}: ${outcome.failure.message}`, { address: step.address })
        failed.push({ address: step.address, prefixLength: step.prefixLength, interfaceName: name })
      }
    }
    ledger.add(failed)
    return steps.length > 0
  }
}
