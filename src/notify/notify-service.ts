/**
 * Runs all lanes of notifications in the worker thread, controlled by messages of the engine. This file decides which
 * lanes exist, and that a beat is sent every second while a lane is busy. A missing beat means that the thread does not
 * run. This file knows nothing about threads, ports and states.
 */
import type { Launch } from '../healthcheck/programs/launched-programs.ts'
import type { Lane, NotifyNews, NotifyOrder } from './notification.ts'
import { NotifyLane } from './notify-lane.ts'

const BEAT = 1_000

export class NotifyService {
  readonly #tell: (news: NotifyNews) => void
  readonly #launch: Launch
  readonly #lanes = new Map<string, NotifyLane>()
  #wanted: ReadonlySet<string> = new Set()
  #beat: NodeJS.Timeout | undefined

  constructor(tell: (news: NotifyNews) => void, launch: Launch) {
    this.#tell = tell
    this.#launch = launch
  }

  obey(order: NotifyOrder): void {
    switch (order.kind) {
      case 'setLanes':
        this.#wanted = new Set(order.lanes.map(({ lane }) => lane))
        for (const each of order.lanes) this.#laneOf(each).prepare(each.set)
        this.#forget()
        return
      case 'notify':
        this.#laneOf(order.notification).post(order.notification)
        this.#beat ??= setInterval(() => this.#onBeat(), BEAT).unref()
        return
      case 'endLanes':
        for (const lane of this.#lanes.values()) lane.close()
        this.#lanes.clear()
    }
  }

  #laneOf({ lane, set }: Lane): NotifyLane {
    const known = this.#lanes.get(lane)
    if (known !== undefined) return known
    const made = new NotifyLane(set, this.#launch, this.#tell)
    this.#lanes.set(lane, made)
    return made
  }

  #onBeat(): void {
    this.#forget()
    if ([...this.#lanes.values()].some(({ isBusy }) => isBusy)) return this.#tell({ kind: 'beat' })
    clearInterval(this.#beat)
    this.#beat = undefined
  }

  /** Closes the lanes of removed routers after their last notification has run. */
  #forget(): void {
    for (const [name, lane] of this.#lanes) {
      if (this.#wanted.has(name) || lane.isBusy) continue
      lane.close()
      this.#lanes.delete(name)
    }
  }
}
