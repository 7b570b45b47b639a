/**
 * Runs several labs at a time, each with an accident of its own, because most of a run is waiting. This file decides
 * that no daemon starts or ends while an accident is observed in any lab, and accidents are not in the same
 * millisecond. This file also decides over which part of a run the load of the machine counts. This file does not know
 * what a lab is.
 */
import { sleep } from '../../src/lab/wait.ts'
import { type Pressure, pressureNow, pressureSince } from './pressure.ts'

/** Milliseconds between the accidents of two labs: longer than a takeover at 100 ms. */
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

  /** Resolves when all have arrived. */
  arrive(): Promise<void> {
    this.#missing -= 1
    if (this.#missing <= 0) this.#open()
    return this.#complete
  }
}

/** Synchronises one run with the others. */
export class Turn {
  readonly #meetings: Meeting[]
  readonly #waitMs: number
  #began: Pressure = pressureNow()
  #pressure: number | undefined

  constructor(meetings: readonly Meeting[], waitMs: number) {
    this.#meetings = [...meetings]
    this.#waitMs = waitMs
  }

  /** Reports that the daemons of this run are up. Resolves when those of all others are, and it is this run's turn. */
  async ready(): Promise<void> {
    await this.#meetings.shift()?.arrive()
    await sleep(this.#waitMs)
    this.#began = pressureNow()
  }

  /** Reports that the accident of this run was observed. Resolves when all others were, and daemons may end. */
  async over(): Promise<void> {
    this.#pressure = pressureSince(this.#began)
    await this.#meetings.shift()?.arrive()
  }

  /** Takes this run out: the others no longer wait for it. */
  leave(): void {
    for (const meeting of this.#meetings.splice(0)) void meeting.arrive()
  }

  /** Share of the time from `ready` to `over` in which some task of the machine waited for a CPU. */
  get pressure(): number {
    return this.#pressure ?? pressureSince(this.#began)
  }
}

/**
 * Runs all at the same time, with their accidents in order. Rejects with the first error, and only when all have ended.
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
