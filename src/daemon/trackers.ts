/**
 * The links and health checks of this node as those that track them see them. Decided here: what a priority is worth
 * that checks lift. Refuses to know which router tracks what, and when anybody looks.
 */
import type { Track } from '../config/track.ts'
import type { CheckBoard } from './check-board.ts'
import { isUp } from './link-state.ts'
import type { NetworkView } from './network-view.ts'
import { type Tracking, trackingOf } from './tracking.ts'

export class Trackers {
  readonly #view: Pick<NetworkView, 'linkNamed'>
  readonly #board: CheckBoard

  constructor(view: Pick<NetworkView, 'linkNamed'>, board: CheckBoard) {
    this.#view = view
    this.#board = board
  }

  of(base: number, track: readonly Track[], starts: boolean): Tracking {
    const states = { isUp: this.#isUp, check: (name: string) => this.#board.of(name) }
    const tracking = trackingOf(base, track, states, starts)
    const { lifting, priority } = tracking
    const assured = lifting.length === 0 ? priority : this.assured(base, track, this.probesOf(lifting))
    return { ...tracking, assured: Math.min(assured, priority) }
  }

  /** The priority if these probes failed. */
  assured(base: number, track: readonly Track[], failed: readonly string[]): number {
    const check = this.#board.assuming(new Set(failed))
    return trackingOf(base, track, { isUp: this.#isUp, check }, false).priority
  }

  probesOf(checks: readonly string[]): readonly string[] {
    return [...new Set(checks.flatMap((check) => this.#board.probesOf(check)))]
  }

  readonly #isUp = (name: string): boolean => isUp(this.#view.linkNamed(name))
}
