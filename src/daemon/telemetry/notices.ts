/**
 * Notifies programs of changes of routers and of sync groups (VR-NTF-03, VR-NTF-04). This file decides which changes
 * are notified. The notification of a group comes after the notifications of its members, and a turn posts
 * notifications last (VR-NTF-08). Only a stopping daemon waits for notify programs, and only for a short time. This
 * file knows nothing about the names of states for programs, how programs run, and their results (notice-account.ts).
 */
import type { Config } from '../../config/config.ts'
import { LOG } from '../../log/log.ts'
import { planOf } from '../../notify/keepalived-arguments.ts'
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
 * Milliseconds that the daemon waits for notify programs after its last router has ended. keepalived gives its programs
 * 1 s. A kubelet or systemd waits 30 s and more for the daemon, and the addresses are removed before.
 */
export const LONGEST_LAST_WORD = 5_000

export type NoticesContext = {
  /** Port of the notify thread; `undefined` = no program is notified. */
  readonly port: NotifyPort | undefined
  readonly clock: Clock
  readonly recorder: Recorder
  readonly schedule: Schedule
}

/** The routers of the daemon, and whether the daemon is stopping. */
export type NotifyingRouters = {
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
  /**
   * State of which programs were last notified, for each router; no entry if the router has not started, or waits for
   * the first result of a check.
   */
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
  /** Promise that finish() returned. A second call of finish() returns the same promise. */
  #finished: Promise<void> | undefined

  constructor(context: NoticesContext) {
    this.#context = context
    this.#accounts = new NoticeAccounts(context.recorder)
    context.port?.onNews((news) => this.#hear(news))
  }

  /**
   * Sets the notification lanes (one for each router and group) of the configuration. The caller must do this before
   * the routers do anything.
   */
  configure({ syncGroups, virtualRouters }: Config): void {
    this.#groupPrograms = new Map(syncGroups.map(({ name, notify }) => [name, notify]))
    for (const name of this.#groupTold.keys()) if (!this.#groupPrograms.has(name)) this.#groupTold.delete(name)
    this.#lanes = [...lanesOf('router', virtualRouters), ...lanesOf('group', syncGroups)]
    this.#accounts.keep(this.#lanes)
  }

  /**
   * Announces the notification lanes to the worker, which then creates their launchers. The caller must first start the
   * routers.
   */
  prepare(): void {
    this.#context.port?.set(this.#lanes.map(({ lane, set }) => ({ lane, set })))
  }

  /** Notes a transition of a router. The caller must first execute the network effects of the transition. */
  transition(
    router: Router,
    { priority, to }: Entered,
    routers: Pick<NotifyingRouters, 'departing' | 'stopping'>,
  ): void {
    // Leaving and Returning are not notified: a router in such a state soon reaches another state, which is notified.
    if (to === 'Leaving' || to === 'Returning') return
    if (to !== 'Initialize') this.#note(router, to === 'Active' ? 'active' : 'backup', priority)
    else if (routers.stopping) this.#note(router, 'stop', priority)
    else if (!routers.departing.has(router)) this.#note(router, 'fault', priority)
  }

  /** Notes that a router is removed, which programs are notified of. */
  removed(router: Router): void {
    if (this.#told.get(router) !== 'stop') this.#note(router, 'removed')
  }

  /** Posts the noted changes to the notify worker. The caller does this at the end of a turn. */
  settle({ all }: Pick<NotifyingRouters, 'all'>): void {
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

  /** Notifies programs of the stop of every router, even of those in fault. */
  stop(all: readonly Router[]): void {
    for (const router of all) if (this.#told.get(router) !== 'stop') this.#note(router, 'stop')
  }

  /** Settles when the last notification has ended, or after LONGEST_LAST_WORD. No program runs afterwards. */
  finish(): Promise<void> {
    this.#finished ??= this.#finish()
    return this.#finished
  }

  /** True while a notification's programs have not ended. */
  get isPending(): boolean {
    return this.#pending.size > 0
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
      recorder.log(
        LOG.notifyUnfinished,
        `Shutdown continues without ${this.#pending.size} notifications, which took longer than ${LONGEST_LAST_WORD} ms`,
      )
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
      const events = new Set(members.map((member) => this.#told.get(member)))
      const [first] = events
      const event = events.has('fault') ? 'fault' : events.size === 1 ? first : undefined
      if (event === undefined || event === 'removed' || this.#groupTold.get(name) === event) continue
      this.#groupTold.set(name, event)
      // Sync groups have no priority (VR-NTF-01).
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
 * Tells whether the router has a fault of which programs are notified. The fault of a check without a result does not
 * count, as in keepalived 2.2.7, which notifies nothing until the first result of the check.
 */
function isInFault({ state }: Router): boolean {
  return state.name === 'Initialize' && state.faults.some((fault) => !fault.startsWith('healthcheckUndecided:'))
}
