/**
 * Several labs at a time, each with an accident of its own: most of a run is waiting. Decides that nobody starts or ends
 * a daemon while an accident is looked at anywhere, that accidents are not on the same millisecond, and over which part of a run the
 * machine is judged. Refuses to know what a lab is.
 */
import { sleep } from '../../src/lab/wait.ts'
import { type Pressure, pressureNow, pressureSince } from './pressure.ts'

/** Between the accidents of two labs, ms: longer than a takeover at 100 ms takes. */
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

  /** Resolves when nobody is waited for any more. */
  arrive(): Promise<void> {
    this.#missing -= 1
    if (this.#missing <= 0) this.#open()
    return this.#complete
  }
}

/** What one run asks of the others. */
export class Turn {
  readonly #meetings: Meeting[]
  readonly #waitMs: number
  #began: Pressure = pressureNow()
  #pressure: number | undefined

  constructor(meetings: readonly Meeting[], waitMs: number) {
    this.#meetings = [...meetings]
    this.#waitMs = waitMs
  }

  /** My daemons run. Resolves when those of all others do and it is my turn. */
  async ready(): Promise<void> {
    await this.#meetings.shift()?.arrive()
    await sleep(this.#waitMs)
    this.#began = pressureNow()
  }

  /** My accident has been looked at. Resolves when those of all others have, and daemons may end. */
  async over(): Promise<void> {
    this.#pressure = pressureSince(this.#began)
    await this.#meetings.shift()?.arrive()
  }

  /** Nobody waits for me any more, whatever came of my run. */
  leave(): void {
    for (const meeting of this.#meetings.splice(0)) void meeting.arrive()
  }

  /** Share of the time from `ready` to `over` in which some task of the machine waited for a CPU. */
  get pressure(): number {
    return this.#pressure ?? pressureSince(this.#began)
  }
}

/** Runs all of them at the same time, the first hurt first. Rejects with the first error, and only when all have ended. */
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
