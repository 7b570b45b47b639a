/**
 * Messages between engine and worker about programs that are run at a change of state (VR-NTF-01). Messages are values
 * only. This file knows nothing about when a state changes, its name in keepalived, and how a program is run.
 */
import type { Reason } from '../healthcheck/probe-result.ts'
import type { LaunchedArgv, ProgramSet, WantedRun } from '../healthcheck/programs/program-set.ts'
import type { Millis } from '../wire/units.ts'

/** `removed`: a reload removed the router from the configuration, or replaced it. */
export type NotifyEvent = 'active' | 'backup' | 'fault' | 'stop' | 'removed'

/** Notify programs of one router or sync group, as configured. */
export type NotifyPrograms = {
  readonly active?: LaunchedArgv | undefined
  readonly backup?: LaunchedArgv | undefined
  readonly fault?: LaunchedArgv | undefined
  readonly stop?: LaunchedArgv | undefined
  /** Program that runs for every event, with the event appended to its arguments. */
  readonly change?: LaunchedArgv | undefined
  /** User that runs the programs. `undefined`: the daemon's user. */
  readonly user?: string | undefined
  /**
   * `keep`: the programs have the daemon's capabilities, if the user is the daemon's own or root. `undefined`: the
   * programs have no capabilities.
   */
  readonly capabilities?: 'keep' | undefined
  /**
   * Handling of programs that other users can change: `skip` leaves them out, `run` runs them. `undefined`: such a
   * program is a configuration error.
   */
  readonly unsafe?: 'skip' | 'run' | undefined
  /** Timeout of each run of a notify program. */
  readonly timeout: Millis
}

export type NotifySubject = { readonly kind: 'router' | 'group'; readonly name: string }

/**
 * Returns the name of the lane of a router or sync group. Notifications of one lane run one after the other, those of
 * several lanes in parallel.
 */
export const laneOf = ({ kind, name }: NotifySubject): string => `${kind} ${name}`

export type Lane = { readonly lane: string; readonly set: ProgramSet }

export type Notification = Lane & {
  readonly id: number
  /** Runs of programs for this notification, in order. */
  readonly runs: readonly WantedRun[]
  readonly timeout: Millis
  /** True if the daemon is stopping. Notifications that wait before this one are then skipped. */
  readonly isLast: boolean
}

export type NotifyOrder =
  /**
   * Sets the routers and groups with notify programs. The launchers of these programs are started before they are
   * needed.
   */
  | { readonly kind: 'setLanes'; readonly lanes: readonly Lane[] }
  | { readonly kind: 'notify'; readonly notification: Notification }
  /** Ends all notify programs, including those in progress. */
  | { readonly kind: 'endLanes' }

export type NotifyNews =
  | {
      readonly kind: 'ran'
      readonly id: number
      readonly index: number
      readonly reason: Reason
      readonly detail: string
      readonly latency: Millis
    }
  /** All runs of the notification have ended. */
  | { readonly kind: 'done'; readonly id: number }
  /** The notification is not run, because too many others, or the last one of a stopping daemon, came after it. */
  | { readonly kind: 'superseded'; readonly id: number }
  /** Sign that the notify thread is alive, once a second while a program runs. */
  | { readonly kind: 'beat' }
