/**
 * What engine and worker say to each other about programs that are told of a change of state (VR-NTF-01). Values only. This
 * file does not know when a state changes, what keepalived calls it, and how a program is run.
 */
import type { Reason } from '../healthcheck/probe-result.ts'
import type { LaunchedArgv, ProgramSet, WantedRun } from '../healthcheck/programs/program-set.ts'
import type { Millis } from '../wire/units.ts'

/** `removed`: a reload has taken the router out of the configuration, or made another one of it. */
export type NotifyEvent = 'active' | 'backup' | 'fault' | 'stop' | 'removed'

/** Of one router or sync group, as configured. */
export type NotifyPrograms = {
  readonly active?: LaunchedArgv | undefined
  readonly backup?: LaunchedArgv | undefined
  readonly fault?: LaunchedArgv | undefined
  readonly stop?: LaunchedArgv | undefined
  /** Run for every event, with what has happened appended to its arguments. */
  readonly change?: LaunchedArgv | undefined
  /** undefined: as the daemon. */
  readonly user?: string | undefined
  /** `keep`: those of the daemon, where the user is its own or root. undefined: none. */
  readonly capabilities?: 'keep' | undefined
  /** Those that others can change: `skip`: left out; `run`. undefined: that is wrong. */
  readonly unsafe?: 'skip' | 'run' | undefined
  /** Of each run. */
  readonly timeout: Millis
}

export type NotifySubject = { readonly kind: 'router' | 'group'; readonly name: string }

/** The notifications of one subject come one after the other; those of several at the same time. */
export const laneOf = ({ kind, name }: NotifySubject): string => `${kind} ${name}`

export type Lane = { readonly lane: string; readonly set: ProgramSet }

export type Notification = Lane & {
  readonly id: number
  /** In order. */
  readonly runs: readonly WantedRun[]
  readonly timeout: Millis
  /** The daemon ends: what waits before it is not worth the time. */
  readonly isLast: boolean
}

export type NotifyOrder =
  /** Those that may have something to tell: their launchers are made before they are needed. */
  | { readonly kind: 'setLanes'; readonly lanes: readonly Lane[] }
  | { readonly kind: 'notify'; readonly notification: Notification }
  /** Nothing runs any more, and nothing of what was under way survives. */
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
  /** Nothing is left to be run of it. */
  | { readonly kind: 'done'; readonly id: number }
  /** Too many came after it, or the last one: it is not run. */
  | { readonly kind: 'superseded'; readonly id: number }
  /** Once a second while something is under way: the sign that the thread lives. */
  | { readonly kind: 'beat' }
