/**
 * Runs several labs at the same time, each with its own accident, because a run mostly waits. This file decides that no
 * daemon starts or ends while any lab observes an accident, and two accidents are never in the same millisecond. This
 * file also decides for which part of a run the load of the machine is recorded. This file does not know what a lab is.
 */
import { sleep } from '../../src/lab/wait.ts'
import { type Pressure, pressureNow, pressureSince } from './pressure.ts'

/** Milliseconds between the accidents of two labs: longer than a takeover at an Advertisement_Interval of 100 ms. */
const APART = 500

class Meeting {
  #missing: number
  #open: () => void = () => {}
  readonly #complete = new Promise<void>((resolve) => {
    this.#open = resolve
  })

  constructor(count: number) {
    this.#missing = count
  }

  /** Resolves when all runs have called this function. */
  arrive(): Promise<void> {
    this.#missing -= 1
    if (this.#missing <= 0) this.#open()
    return this.#complete
  }
}

/** Synchronises one run with the runs of the other labs. */
export class Turn {
  readonly #meetings: Meeting[]
  readonly #waitMs: number
  #began: Pressure = pressureNow()
  #pressure: number | undefined

  constructor(meetings: readonly Meeting[], waitMs: number) {
    this.#meetings = [...meetings]
    this.#waitMs = waitMs
  }

  /**
   * Reports that the daemons of this run are up. Resolves when the daemons of all other runs are up too, and this run
   * may make its accident.
   */
  async ready(): Promise<void> {
    await this.#meetings.shift()?.arrive()
    await sleep(this.#waitMs)
    this.#began = pressureNow()
  }

  /**
   * Reports that this run has observed its accident. Resolves when all other runs have done so, and daemons may end.
   */
  async over(): Promise<void> {
    this.#pressure = pressureSince(this.#began)
    await this.#meetings.shift()?.arrive()
  }

  /** Removes this run from the group, so that the other runs no longer wait for it. */
  leave(): void {
    for (const meeting of this.#meetings.splice(0)) void meeting.arrive()
  }

  /**
   * Share of the time from `ready` to `over` in which at least one task of the machine waited for a CPU, from 0 to 1.
   */
  get pressure(): number {
    return this.#pressure ?? pressureSince(this.#began)
  }
}

/**
 * Runs all members at the same time; their accidents happen in the order of the list. Rejects with the first error,
 * after every run has ended.
 */
export async function together<T>(members: readonly T[], run: (member: T, turn: Turn) => Promise<void>): Promise<void> {
  const meetings = [new Meeting(members.length), new Meeting(members.length)]
  const ended = await Promise.allSettled(
    members.map(async (member, i) => {
      const turn = new Turn(meetings, i * APART)
      try {
        await run(member, turn)
      } finally {
        turn.leave()
      }
    }),
  )
  for (const end of ended) if (end.status === 'rejected') throw end.reason
}
