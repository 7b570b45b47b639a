/**
 * Removes addresses that a reload took out of the configuration and that could not be uninstalled. No router has such
 * an address any longer. Another node may answer for it as well, which is worse than a router that is down. The removal
 * is repeated for ever (ground rule 4: no VIP outlives its holder), but only for exactly the installed form. The same
 * address with another prefix length is not ours. This file knows nothing about why an address was removed.
 */
import { LOG } from '../../log/log.ts'
import type { Address } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { Writer } from '../effect-runner.ts'
import type { AddressStep, WantedAddress } from '../ports.ts'
import type { Registry } from '../router/registry.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { NetworkView } from './network-view.ts'

/** Milliseconds until the first attempt to remove leftover addresses, and between later attempts. */
const FIRST_AFTER = 10
const AGAIN_AFTER = 1_000

export type LeftoversContext = {
  readonly recorder: Recorder
  readonly view: Pick<NetworkView, 'where'>
  /** Routers of the daemon. A router that answers for an address removes that address itself. */
  readonly registry: Pick<Registry, 'answersFor'>
  readonly writer: Writer
}

export class Leftovers {
  readonly #context: LeftoversContext
  #left: readonly WantedAddress[] = []
  #nextAt: Millis | undefined

  constructor(context: LeftoversContext) {
    this.#context = context
  }

  get nextAt(): Millis | undefined {
    return this.#nextAt
  }

  has(address: Address): boolean {
    return this.#left.some((left) => left.address === address)
  }

  /** Remembers the dropped addresses that are still installed on this node. */
  take(dropped: readonly WantedAddress[], now: Millis): void {
    const here = dropped.filter((each) => this.#isHere(each) && !this.#context.registry.answersFor(each.address))
    if (here.length === 0) return
    this.#left = [...this.#left, ...here]
    this.#nextAt = plus(now, FIRST_AFTER)
  }

  /**
   * Tries again to remove leftover addresses, if the time of the next attempt has come. Returns true when the last of
   * them is gone.
   */
  runDue(now: Millis): boolean {
    return this.#nextAt !== undefined && now >= this.#nextAt && this.#run(now)
  }

  /** Tries to remove the leftover addresses for the last time. */
  runLast(now: Millis): void {
    if (this.#nextAt !== undefined) this.#run(now)
  }

  #run(now: Millis): boolean {
    const steps = this.#left
      .filter((each) => this.#isHere(each) && !this.#context.registry.answersFor(each.address))
      .map((each): AddressStep => ({ action: 'remove', ...each }))
    const { recorder, writer } = this.#context
    const failed = writer.apply(steps).flatMap((outcome) => {
      if (outcome.ok) return []
      const { code, message } = outcome.failure
      const { address } = outcome.step
      recorder.logLimited(
        `leftover ${address} ${code}`,
        LOG.leftoverNotRemoved,
        `Cannot remove a VIP that is no longer in the configuration: ${message}`,
        { address, code },
      )
      return [outcome.step]
    })
    this.#left = failed.map(({ interfaceIndex, address, prefixLength }) => ({ interfaceIndex, address, prefixLength }))
    this.#nextAt = failed.length === 0 ? undefined : plus(now, AGAIN_AFTER)
    return failed.length === 0
  }

  #isHere({ interfaceIndex, address, prefixLength }: WantedAddress): boolean {
    return this.#context.view
      .where(address)
      .some((found) => found.interfaceIndex === interfaceIndex && found.prefixLength === prefixLength)
  }
}
