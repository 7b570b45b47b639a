/**
 * When the radars of one segment may ask, so that hundreds of addresses are neither hundreds of frames in one instant
 * nor hundreds of wakings up: in steps on a grid, so many questions each. Refuses to know what an answer means, and
 * which frame a question is.
 */
import { MOST_QUESTIONS, RADAR_STEP, radarPeriod } from '../arp/radar.ts'
import type { Address } from '../wire/address.ts'
import { type Millis, millis } from '../wire/units.ts'
import type { Router } from './router.ts'

const stepOf = (at: Millis): number => Math.floor(at / RADAR_STEP)

export class RadarSchedule {
  readonly #routers: () => Iterable<Router>
  /** The one that has had its questions. */
  #lastStep = Number.NEGATIVE_INFINITY
  #waiting: Address[] = []

  constructor(routers: () => Iterable<Router>) {
    this.#routers = routers
  }

  nextAt(): Millis | undefined {
    let nearest: Millis | undefined
    for (const { duplicates } of this.#routers()) {
      const at = duplicates.nextAt
      if (at !== undefined && (nearest === undefined || at < nearest)) nearest = at
    }
    if (nearest === undefined) return undefined
    return millis(Math.max(Math.ceil(nearest / RADAR_STEP), this.#lastStep + 1) * RADAR_STEP)
  }

  /** Routers that become Active in one instant do not ask in one. */
  firstDelay(): number {
    const period = this.#period()
    return period <= radarPeriod(1) ? 0 : Math.random() * period
  }

  /** What is due is asked at the end of the turn; whom a silence brings back, or makes announce, is told now. */
  advance(now: Millis): void {
    const next = this.nextAt()
    if (next === undefined || next > now) return
    this.#lastStep = stepOf(now)
    const period = this.#period()
    let most = MOST_QUESTIONS
    const due = [...this.#routers()].flatMap((router) => {
      const at = router.duplicates.nextAt
      return at === undefined || at > now ? [] : [{ router, at }]
    })
    for (const { router } of due.sort((one, other) => one.at - other.at)) {
      const questions = router.duplicates.takeQuestions({ period, most, chance: Math.random() }, now)
      this.#waiting.push(...questions)
      most -= questions.length
      if (most < 1) break
    }
  }

  /** For whom to ask; once. */
  take(): readonly Address[] {
    return this.#waiting.length === 0 ? this.#waiting : this.#waiting.splice(0)
  }

  #period(): Millis {
    let addresses = 0
    for (const { duplicates, parameters } of this.#routers())
      if (duplicates.isOn) addresses += parameters.addresses.length
    return radarPeriod(addresses)
  }
}
