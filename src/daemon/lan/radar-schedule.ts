/**
 * When the radars of one segment may ask, so that hundreds of addresses are neither hundreds of frames in one instant
 * nor hundreds of wakings up: in steps on a grid, so many questions each. Refuses to know what an answer means, and
 * which frame a question is.
 */
import { MOST_QUESTIONS, RADAR_STEP, radarPeriod } from '../../arp/radar.ts'
import type { Address } from '../../wire/address.ts'
import { type Millis, millis, plus, sooner } from '../../wire/units.ts'
import type { Router } from '../router.ts'

/** A question that is needed waits so much longer for somebody else's alarm, which costs less than one of its own. */
const SLACK = 100

const stepOf = (at: Millis): number => Math.floor(at / RADAR_STEP)

export class RadarSchedule {
  readonly #routers: () => Iterable<Router>
  /** From 0 to 1. */
  readonly #random: () => number
  /** The one that has had its questions. */
  #lastStep = Number.NEGATIVE_INFINITY
  #waiting: Address[] = []

  constructor(routers: () => Iterable<Router>, random: () => number) {
    this.#routers = routers
    this.#random = random
  }

  /** When an alarm is needed, if there is none before: Actives wake to advertise. A round at work has waited. */
  nextAt(): Millis | undefined {
    let nearest: Millis | undefined
    for (const { duplicates } of this.#routers()) nearest = sooner(nearest, duplicates.neededAt)
    return nearest === undefined ? undefined : this.#stepFor(plus(nearest, SLACK))
  }

  #stepFor(at: Millis): Millis {
    return millis(Math.max(Math.ceil(at / RADAR_STEP), this.#lastStep + 1) * RADAR_STEP)
  }

  /** Routers that become Active in one instant do not ask in one. */
  firstDelay(): number {
    const period = this.#period()
    return period <= radarPeriod(1) ? 0 : this.#random() * period
  }

  /** What is due is asked at the end of the turn; whom a silence brings back, or makes announce, is told now. */
  advance(now: Millis): void {
    if (stepOf(now) <= this.#lastStep || !this.#isDue(now)) return
    this.#lastStep = stepOf(now)
    const period = this.#period()
    let most = MOST_QUESTIONS
    const due = [...this.#routers()].flatMap((router) => {
      const at = router.duplicates.nextAt
      return at === undefined || at > now ? [] : [{ router, at }]
    })
    for (const { router } of due.sort((one, other) => one.at - other.at)) {
      const questions = router.duplicates.takeQuestions({ period, most, chance: this.#random() }, now)
      this.#waiting.push(...questions)
      most -= questions.length
      if (most < 1) break
    }
  }

  #isDue(now: Millis): boolean {
    for (const { duplicates } of this.#routers()) {
      const at = duplicates.nextAt
      if (at !== undefined && at <= now) return true
    }
    return false
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
