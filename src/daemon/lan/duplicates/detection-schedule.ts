/**
 * Decides when the routers of one segment may ask the LAN for duplicate holders of their addresses. Questions are sent
 * at fixed times, with a limit for each time. With fixed times and limits, hundreds of addresses cause neither hundreds
 * of frames in one moment nor hundreds of wake-ups. This file knows nothing about the frame of a question, and the
 * meaning of an answer.
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

/**
 * Milliseconds that a question may wait for the next alarm, because an alarm for the question alone would cost more.
 */
const SLACK = 100

const stepOf = (at: Millis): number => Math.floor(at / DETECTION_STEP)

/** The fields of a router that the detection schedule uses. */
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
  /** Returns a random number from 0 to 1. */
  readonly #random: () => number
  /** Last time slot in which questions were sent. */
  #lastStep = Number.NEGATIVE_INFINITY
  #waiting: Address[] = []

  constructor(routers: () => Iterable<DetectingRouter>, random: () => number) {
    this.#routers = routers
    this.#random = random
  }

  /**
   * Returns the time at which the engine's timer must wake the engine for a step of the detection, if nothing wakes it
   * earlier.
   */
  nextAt(): Millis | undefined {
    let nearest: Millis | undefined
    for (const { duplicates } of this.#routers()) nearest = sooner(nearest, duplicates.neededAt)
    return nearest === undefined ? undefined : this.#stepFor(plus(nearest, SLACK))
  }

  #stepFor(at: Millis): Millis {
    return millis(Math.max(Math.ceil(at / DETECTION_STEP), this.#lastStep + 1) * DETECTION_STEP)
  }

  /**
   * Returns the delay of the first questions in milliseconds. The delay differs, so that routers which become Active
   * together do not ask together.
   */
  firstDelay(): number {
    const { period } = this
    return period <= detectionPeriod(1) ? 0 : this.#random() * period
  }

  /**
   * Collects the questions that are due, for the end of the turn. The routers also handle hosts that did not answer.
   */
  advance(now: Millis): void {
    if (stepOf(now) <= this.#lastStep || !this.#isDue(now)) return
    this.#lastStep = stepOf(now)
    const { period } = this
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

  /** Returns the addresses that were collected for the next question, and empties the collection. */
  take(): readonly Address[] {
    return this.#waiting.length === 0 ? this.#waiting : this.#waiting.splice(0)
  }

  /** Milliseconds of a round of questions. */
  get period(): Millis {
    let addresses = 0
    for (const { duplicates, parameters } of this.#routers())
      if (duplicates.isOn) addresses += parameters.addresses.length
    return detectionPeriod(addresses)
  }
}
