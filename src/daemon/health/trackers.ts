/**
 * Reads links and health checks of this node for the trackers of routers. This file decides which priority of a router
 * is certain while checks raise it. This file knows nothing about which router has which trackers.
 */
import { isInterface, type Track, trackerKey } from '../../config/schema/track.ts'
import type { Asked } from '../../healthcheck/check-message.ts'
import type { NetworkView } from '../addresses/network-view.ts'
import { isUp } from '../addresses/network-view.ts'
import type { CheckBoard } from './check-board.ts'
import { type Lifting, type Part, type Replaced, type Tracking, trackingOf, worseOf } from './tracking.ts'

export class Trackers {
  readonly #view: Pick<NetworkView, 'linkNamed'>
  readonly #board: CheckBoard

  constructor(view: Pick<NetworkView, 'linkNamed'>, board: CheckBoard) {
    this.#view = view
    this.#board = board
  }

  of(base: number, track: readonly Track[], starts: boolean, replaced?: Replaced): Tracking {
    const states = { isUp: this.#isUp, check: (name: string) => this.#board.of(name) }
    const tracking = trackingOf(base, track, states, starts, replaced)
    const { lifting, priority } = tracking
    const rests = replaced !== undefined || lifting.up.length + lifting.down.length > 0
    const assured = rests ? this.assured(base, track, this.probesOf(lifting)) : priority
    return { ...tracking, assured: Math.min(assured, priority) }
  }

  /**
   * Returns the priority of a router as if these health checks had changed. Trackers that a reload removed do not
   * count.
   */
  assured(base: number, track: readonly Track[], { up, down }: Asked): number {
    const failed = this.#board.assuming('down', new Set(up))
    const recovered = this.#board.assuming('up', new Set(down))
    const check = (name: string) => {
      const [one, other] = [failed(name), recovered(name)]
      const tracker = track.find((each) => !isInterface(each) && each.healthcheck === name)
      if (one === undefined || other === undefined || tracker === undefined || isInterface(tracker)) return one
      return worseOf(tracker, one, other)
    }
    return trackingOf(base, track, { isUp: this.#isUp, check }, false).priority
  }

  probesOf({ up, down }: Lifting): Asked {
    return { up: this.#probesOf(up), down: this.#probesOf(down) }
  }

  #probesOf(checks: readonly string[]): readonly string[] {
    return [...new Set(checks.flatMap((check) => this.#board.probesOf(check)))]
  }

  /**
   * Returns the contributions that still count when a reload brings these trackers; `undefined` if all results that
   * matter are known.
   */
  replaced(parts: readonly Part[], track: readonly Track[]): Replaced | undefined {
    const stay = new Set(track.map(trackerKey))
    const gone = parts.filter(({ kind, name, adds }) => adds !== 0 && !stay.has(`${kind} ${name}`))
    const by = track.flatMap((tracker) =>
      isInterface(tracker) || tracker.weight === 0 || this.#board.of(tracker.healthcheck)?.result !== 'undecided'
        ? []
        : [tracker.healthcheck],
    )
    return gone.length === 0 || by.length === 0 ? undefined : { parts: gone, by }
  }

  readonly #isUp = (name: string): boolean => isUp(this.#view.linkNamed(name))
}
