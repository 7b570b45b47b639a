/**
 * Which changes of state programs are notified of, of routers and of sync groups (VR-NTF-03, -04). Decided here: what
 * counts as a change, that the notification of a group comes after those of its members, and that posting is the last
 * act of a turn (VR-NTF-08). Only the end of the daemon waits for a program, and that not for long. Refuses to know
 * names of states for programs, how programs are run, and the result of a run (notice-account.ts).
 */
import type { Config } from '../../config/config.ts'
import { planOf } from '../../notify/keepalived-words.ts'
import {
  type Lane,
  laneOf,
  type NotifyEvent,
  type NotifyPrograms,
  type NotifySubject,
} from '../../notify/notification.ts'
import type { Schedule } from '../alarm.ts'
import type { Clock, NotifyPort, NotifyPortNews } from '../ports.ts'
import type { Router } from '../router/router.ts'
import { NoticeAccounts, type NoticeSnapshot } from './notice-account.ts'
import type { Recorder } from './recorder.ts'
import type { Entered } from './transition-history.ts'

/**
 * Milliseconds from the end of the last router to the end of the daemon. keepalived gives its programs 1 s; a kubelet
 * or systemd waits 30 s and more for us, and the addresses are removed by then.
 */
export const LONGEST_LAST_WORD = 5_000

export type NoticesContext = {
  /** `undefined`: no program is notified. */
  readonly port: NotifyPort | undefined
  readonly clock: Clock
  readonly recorder: Recorder
  readonly schedule: Schedule
}

/** The routers, and whether the daemon is stopping. */
export type House = {
  readonly all: readonly Router[]
  readonly departing: ReadonlySet<Router>
  readonly stopping: boolean
}

type Notice = { readonly subject: NotifySubject; readonly event: NotifyEvent; readonly priority: number } & {
  readonly programs: NotifyPrograms | undefined
}

type ConfiguredLane = Lane & { readonly subject: NotifySubject }

type Named = { readonly name: string; readonly notify?: NotifyPrograms | undefined }

const lanesOf = (kind: NotifySubject['kind'], named: readonly Named[]): readonly ConfiguredLane[] =>
  named.flatMap(({ name, notify }) => {
    const subject = { kind, name }
    return notify === undefined ? [] : [{ subject, lane: laneOf(subject), set: planOf(subject, notify).set }]
  })

export class Notices {
  readonly #context: NoticesContext
  readonly #accounts: NoticeAccounts
  #groupPrograms: ReadonlyMap<string, NotifyPrograms | undefined> = new Map()
  /** Last notified state of a router; none while it has not started, or waits for a first result. */
  readonly #told = new WeakMap<Router, NotifyEvent>()
  readonly #groupTold = new Map<string, NotifyEvent>()
  #lanes: readonly ConfiguredLane[] = []
  #routers: readonly Router[] = []
  #untold: readonly Router[] = []
  #changed: Router[] = []
  #notices: Notice[] = []
  #lastId = 0
  readonly #pending = new Set<number>()
  #onEmpty: () => void = () => {}
  /** A second call waits for the same end. */
  #finished: Promise<void> | undefined

  constructor(context: NoticesContext) {
    this.#context = context
    this.#accounts = new NoticeAccounts(context.recorder)
    context.port?.onNews((news) => this.#hear(news))
  }

  /** Call it before the routers of this configuration do anything. */
  know({ syncGroups, virtualRouters }: Config): void {
    this.#groupPrograms = new Map(syncGroups.map(({ name, notify }) => [name, notify]))
    for (const name of this.#groupTold.keys()) if (!this.#groupPrograms.has(name)) this.#groupTold.delete(name)
    this.#lanes = [...lanesOf('router', virtualRouters), ...lanesOf('group', syncGroups)]
    this.#accounts.keep(this.#lanes)
  }

  /** Call it when they have: makes the launchers that will be needed. */
  prepare(): void {
    this.#context.port?.set(this.#lanes.map(({ lane, set }) => ({ lane, set })))
  }

  /** Call it after what the transition did on the network. */
  transition(router: Router, { priority, to }: Entered, house: Pick<House, 'departing' | 'stopping'>): void {
    // The state for which the router is on its way is notified when it is reached.
    if (to === 'Leaving' || to === 'Returning') return
    if (to !== 'Initialize') this.#note(router, to === 'Active' ? 'active' : 'backup', priority)
    else if (house.stopping) this.#note(router, 'stop', priority)
    else if (!house.departing.has(router)) this.#note(router, 'fault', priority)
  }

  /** The router is gone. */
  removed(router: Router): void {
    if (this.#told.get(router) !== 'stop') this.#note(router, 'removed')
  }

  /** Posts what has come together. Call it at the end of a turn. */
  settle({ all }: Pick<House, 'all'>): void {
    if (all !== this.#routers) {
      this.#routers = all
      this.#untold = all.filter((router) => !this.#told.has(router))
    }
    if (this.#untold.length > 0) {
      for (const router of this.#untold) if (isInFault(router)) this.#note(router, 'fault')
      this.#untold = this.#untold.filter((router) => !this.#told.has(router))
    }
    if (this.#changed.length > 0) this.#noteGroups()
    for (const notice of this.#notices.splice(0)) this.#post(notice)
  }

  /** Notifies the stop of every router, also of those in fault. */
  stop(all: readonly Router[]): void {
    for (const router of all) if (this.#told.get(router) !== 'stop') this.#note(router, 'stop')
  }

  /** Settles when the last notification has ended, or in LONGEST_LAST_WORD; then no program is run any more. */
  finish(): Promise<void> {
    this.#finished ??= this.#finish()
    return this.#finished
  }

  snapshot(): readonly NoticeSnapshot[] {
    return this.#accounts.snapshot()
  }

  async #finish(): Promise<void> {
    const { port, recorder, schedule } = this.#context
    if (this.#pending.size > 0) {
      await new Promise<void>((resolve) => {
        const cancel = schedule(resolve, LONGEST_LAST_WORD)
        this.#onEmpty = () => {
          cancel()
          resolve()
        }
      })
    }
    if (this.#pending.size > 0)
      recorder.log('warn', `${this.#pending.size} notifications have not ended in ${LONGEST_LAST_WORD} ms: given up`)
    port?.stop()
  }

  #note(router: Router, event: NotifyEvent, priority = router.parameters.priority): void {
    if (this.#told.get(router) === event) return
    this.#told.set(router, event)
    this.#changed.push(router)
    const { name, spec } = router
    const subject = { kind: 'router', name } as const
    this.#notices.push({ subject, event, priority, programs: spec.notify })
  }

  #noteGroups(): void {
    const groups = new Set(this.#changed.splice(0).map(({ group }) => group))
    for (const { name, members } of groups) {
      if (name === undefined) continue
      const words = new Set(members.map((member) => this.#told.get(member)))
      const [word] = words
      const event = words.has('fault') ? 'fault' : words.size === 1 ? word : undefined
      if (event === undefined || event === 'removed' || this.#groupTold.get(name) === event) continue
      this.#groupTold.set(name, event)
      // Groups have no priority (VR-NTF-01).
      this.#notices.push({
        subject: { kind: 'group', name },
        event,
        priority: 0,
        programs: this.#groupPrograms.get(name),
      })
    }
  }

  #post({ event, priority, programs, subject }: Notice): void {
    const { port } = this.#context
    if (port === undefined || programs === undefined) return
    const { runs, set } = planOf(subject, programs)
    if (runs[event].length === 0) return
    const id = ++this.#lastId
    const lane = laneOf(subject)
    this.#pending.add(id)
    this.#accounts.open(id, { subject, lane, event })
    port.post({
      id,
      lane,
      set,
      runs: runs[event].map((index) => ({
        index,
        number: set.programs[index]?.numbered === true ? priority : undefined,
      })),
      timeout: programs.timeout,
      isLast: event === 'stop',
    })
  }

  #hear(news: NotifyPortNews): void {
    this.#accounts.hear(news, this.#context.clock.now())
    if (news.kind !== 'done' && news.kind !== 'superseded') return
    this.#pending.delete(news.id)
    if (this.#pending.size === 0) this.#onEmpty()
  }
}

/**
 * Reports whether a fault is to be notified. A check without a result is none (keepalived 2.2.7 notifies nothing until
 * its first result).
 */
function isInFault({ state }: Router): boolean {
  return state.name === 'Initialize' && state.faults.some((fault) => !fault.startsWith('healthcheckUndecided:'))
}
