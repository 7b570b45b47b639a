/** A fake of the guardian's part in a restart (docs/adr/0088): stores the record of an engine, and gives it to the next one. */
import type { Inheritance, RestartOrder, RestartPort } from '../../../src/daemon/ports.ts'
import { millis } from '../../../src/wire/units.ts'
import type { FakeClock } from './fake-clock.ts'

export class FakeRestart implements RestartPort {
  inherited: Inheritance | undefined
  /** Record of this engine. */
  kept: RestartOrder | undefined
  /** Number of reports that the engine has adopted what it adopts. */
  settlements = 0
  readonly carriers = new Map([
    ['eth0', 4],
    ['eth1', 7],
  ])
  readonly #clock: FakeClock
  readonly #isExecuted: (unit: number) => boolean

  constructor(clock: FakeClock, isExecuted: (unit: number) => boolean) {
    this.#clock = clock
    this.#isExecuted = isExecuted
  }

  get isKept(): boolean {
    return this.kept !== undefined
  }

  claim(slot: number) {
    const generation = this.#clock.generationOf(slot)
    return generation === undefined ? undefined : { slot, generation }
  }

  isArmed(unit: number): boolean {
    return !this.#isExecuted(unit)
  }

  carrierChanges(interfaceName: string): number | undefined {
    return this.carriers.get(interfaceName)
  }

  keep(record: RestartOrder | undefined): void {
    this.kept = record
  }

  /** Leaves the record of the engine to the next one. */
  inherit(at: number, changes: Partial<Inheritance> = {}): void {
    const { text = '' } = this.kept ?? {}
    this.inherited = { text, isUpgrade: false, crashedAt: millis(at), restarts: 1, signal: 9, ...changes }
    this.kept = undefined
  }

  rehearse(): Promise<never> {
    return Promise.reject(new Error('Cannot rehearse'))
  }

  handOver(): string {
    return 'Cannot hand over'
  }

  settled(): void {
    this.settlements++
  }
}
