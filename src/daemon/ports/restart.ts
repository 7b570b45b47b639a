/**
 * The port of a restart without a move (docs/adr/0088): what the guardian keeps of this engine for the next one, and
 * what it has kept of the engine before.
 */
import type { Millis } from '../../wire/units.ts'

/** Frames of a slot that the clock sends. The generation changes with each order of the slot. */
export type ClockClaim = { readonly slot: number; readonly generation: number }

/** Record of an engine that crashed, and the circumstances of the crash. */
export type Inheritance = {
  /** Text that the crashed engine gave to keep(). */
  readonly text: string
  readonly crashedAt: Millis
  /** Number of restarts since the guardian started, with this one. */
  readonly restarts: number
  /** Number of the signal that ended the engine; `undefined` if it exited. */
  readonly signal: number | undefined
}

export type RestartPort = {
  /** Record of the crashed engine; `undefined` if this engine follows no crash. */
  readonly inherited: Inheritance | undefined
  /** True while the guardian has a record of this engine, and would start it again after a crash. */
  readonly isKept: boolean
  /** Returns the claim of a slot; `undefined` if the clock does not send for it. */
  claim(slot: number): ClockClaim | undefined
  /** Returns true if the cleanup plan of the unit is armed and was not executed. */
  isArmed(unit: number): boolean
  /** Returns how often the carrier of the interface has changed; `undefined` if the kernel does not tell. */
  carrierChanges(interfaceName: string): number | undefined
  /**
   * Lets the guardian start the engine again after a crash, as long as the clock sends for each of these claims.
   * `undefined`: the guardian removes the addresses after a crash.
   */
  keep(record: { readonly claims: readonly ClockClaim[]; readonly text: string } | undefined): void
  /** Reports that this engine has adopted what it adopts. The guardian executes the other plans of the crashed engine. */
  settled(): void
}
