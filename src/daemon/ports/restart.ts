/**
 * The port of a restart without a move (docs/adr/0088) and of an upgrade (docs/adr/0096). The guardian keeps a record of
 * this engine for the next one, and has kept a record of the engine before.
 */
import type { Millis } from '../../wire/units.ts'

/** Frames of a slot that the clock sends. The generation changes with each order of the slot. */
export type ClockClaim = { readonly slot: number; readonly generation: number }

/** Frames that the clock must still send for the next engine, and a text that the guardian does not read. */
export type RestartOrder = { readonly claims: readonly ClockClaim[]; readonly text: string }

/** Result of a dry run of the program that would replace this engine. */
export type DryRun = {
  /** Exit status; 128 + the number of the signal that ended the program. */
  readonly status: number
  /** Output of the program, cut at 4 KiB. */
  readonly output: string
}

/** Record of the engine before this one, and the circumstances of its end. */
export type Inheritance = {
  /** Text that the engine before gave to keep() or handOver(). */
  readonly text: string
  /** True if the engine before ordered its replacement, and did not crash. */
  readonly isUpgrade: boolean
  readonly crashedAt: Millis
  /** Number of restarts after a crash since the guardian started. */
  readonly restarts: number
  /** Number of the signal that ended the engine; `undefined` if it exited. */
  readonly signal: number | undefined
}

export type RestartPort = {
  /** Record of the engine before; `undefined` if this engine follows no crash and no upgrade. */
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
  keep(record: RestartOrder | undefined): void
  /** Runs the program on the disk beside this engine, with the record. The program only checks its start. */
  rehearse(record: RestartOrder): Promise<DryRun>
  /**
   * Orders the guardian to kill this engine and to start the next one. Returns only if the guardian refuses: the reason.
   * Blocks this thread until then, because nothing may happen between the order and the end.
   */
  handOver(record: RestartOrder): string
  /** Reports that this engine has adopted what it adopts. The guardian executes the other plans of the crashed engine. */
  settled(): void
}
