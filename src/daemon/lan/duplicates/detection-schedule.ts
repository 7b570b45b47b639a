/**
 * Decides when the routers of one segment may ask for duplicates. Questions go in steps on a grid, with a limit for
 * each step. So hundreds of addresses cause neither hundreds of frames in one moment nor hundreds of wake-ups. This
 * file does not know what an answer means, or the frame of a question.
 */
import {
  DETECTION_STEP,
  type DetectionStep,
  detectionPeriod,
  MOST_QUESTIONS,
} from '../../../arp/duplicate-detection.ts'
import type { Parameters } from '../../../vrrp/parameters.ts'
import type { Address } from '../../../wire/address.ts'
import { type Millis, millis, plus, sooner } from '../../../wire/units.ts'

/** Milliseconds that a question may wait for another alarm, which costs less than an alarm for the question alone. */
const SLACK = 100

const stepOf = (at: Millis): number => Math.floor(at / DETECTION_STEP)

/** Part of a router that the schedule uses. */
type DetectingRouter = {
  readonly parameters: Parameters
  readonly duplicates: {
    readonly isOn: boolean
    readonly nextAt: Millis | undefined
    readonly neededAt: Millis | undefined
    takeQuestions(step: DetectionStep, now: Millis): readonly Address[]
  }
}

export class DetectionSchedule {
  readonly #routers: () => Iterable<DetectingRouter>
  /** Returns a number from 0 to 1. */
  readonly #random: () => number
  /** Last step in which questions were sent. */
  #lastStep = Number.NEGATIVE_INFINITY
  #waiting: Address[] = []

  constructor(routers: () => Iterable<DetectingRouter>, random: () => number) {
    this.#routers = routers
    this.#random = random
  }

  /** Returns the time at which an alarm is needed if no earlier one comes. Actives wake up to advertise anyway. */
  nextAt(): Millis | undefined {
    let nearest: Millis | undefined
    for (const { duplicates } of this.#routers()) nearest = sooner(nearest, duplicates.neededAt)
    return nearest === undefined ? undefined : this.#stepFor(plus(nearest, SLACK))
  }

  #stepFor(at: Millis): Millis {
    return millis(Math.max(Math.ceil(at / DETECTION_STEP), this.#lastStep + 1) * DETECTION_STEP)
  }

  /**
   * Returns the delay of the first round of questions in milliseconds, so that routers which become Active together do
   * not ask together.
   */
  firstDelay(): number {
    const period = this.#period()
    return period <= detectionPeriod(1) ? 0 : this.#random() * period
  }

  /** Collects the questions that are due, for the end of the turn. Routers also handle hosts that did not answer. */
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

  /** Returns the addresses that were collected for the next question, and clears the collection. */
  take(): readonly Address[] {
    return this.#waiting.length === 0 ? this.#waiting : this.#waiting.splice(0)
  }

  #period(): Millis {
    let addresses = 0
    for (const { duplicates, parameters } of this.#routers())
      if (duplicates.isOn) addresses += parameters.addresses.length
    return detectionPeriod(addresses)
  }
}
