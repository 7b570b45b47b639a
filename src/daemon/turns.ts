/** Turns for parts of the engine that are not woken by the alarm. The module turn-loop.ts implements them. */
import type { Millis } from '../wire/units.ts'

/**
 * Causes of turns. `clock`: the guardian's clock is late. `silence`: the Active of a watched Backup is silent.
 * `neighbor`: ARP or Neighbor Discovery. `network`: a notification of the kernel. `request`: an operator or the
 * configuration.
 */
export const TURN_CAUSES = [
  ...(['alarm', 'clock', 'silence', 'advertisement', 'neighbor'] as const),
  ...(['network', 'healthcheck', 'guardian', 'request'] as const),
] as const
export type TurnCause = (typeof TURN_CAUSES)[number]

/** Number of turns by cause since the start of the engine. */
export type TurnCounts = Readonly<Record<TurnCause, number>>

export type Turns = {
  /** Begins a turn and returns its time. No waiting packet has been read at this point. */
  begin(cause: TurnCause): Millis
  /** Ends a turn that the alarm did not start. */
  endWoken(now: Millis): void
  /**
   * Ends a turn that changed no router. The regular work of the turn is done, so that no wake-up follows for that work.
   */
  endUnchanged(now: Millis): void
  /**
   * Handles the deadlines of Backups whose Active has not repeated its advertisement in time. The handling of these
   * deadlines is a separate turn, so the caller must not end it.
   */
  serveOverdue(): void
  /** True if orders of routers (packets, address changes) wait for the end of the turn. */
  readonly isBusy: boolean
  /** Makes sure that the engine's alarm comes at `at` or earlier. */
  alarmBy(at: Millis): void
}
