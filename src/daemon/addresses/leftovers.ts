/**
 * Addresses that a reload dropped and that could not be removed: no router has them any more, and they are worse than a router
 * that is down, because two hosts may answer. Tried again for ever, as any removal (ground rule 4), and only exactly as they
 * were installed: the same address with another prefix is not ours. Refuses to know why one was dropped.
 */
import type { Address } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { Writer } from '../effect-runner.ts'
import type { AddressStep, WantedAddress } from '../ports.ts'
import type { Registry } from '../router/registry.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { NetworkView } from './network-view.ts'

/** Milliseconds. */
const FIRST_AFTER = 10
const AGAIN_AFTER = 1_000

export type LeftoversContext = {
  readonly recorder: Recorder
  readonly view: Pick<NetworkView, 'where'>
  /** A router that answers for an address removes it itself. */
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

  /** Remembers the dropped addresses that are still here. */
  take(dropped: readonly WantedAddress[], now: Millis): void {
    const here = dropped.filter((each) => this.#isHere(each) && !this.#context.registry.answersFor(each.address))
    if (here.length === 0) return
    this.#left = [...this.#left, ...here]
    this.#nextAt = plus(now, FIRST_AFTER)
  }

  /** Returns true when the last one is gone. */
  runDue(now: Millis): boolean {
    return this.#nextAt !== undefined && now >= this.#nextAt && this.#run(now)
  }

  /** Tries once more, for the last time. */
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
      recorder.logLimited(`leftover ${address} ${code}`, 'error', `No longer configured: ${message}`, { address, code })
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
