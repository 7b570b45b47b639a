/**
 * The words that notify programs have been written for: keepalived's, because the programs exist already and are not ours
 * to change (VR-NTF-01). Decided here: which programs are run for which event, in which order, with which arguments; all as
 * keepalived 2.2.7 was seen to do it. Refuses to know how a program is run.
 */
import type { LaunchedArgv, ProgramSet } from '../healthcheck/programs/program-set.ts'
import type { NotifyEvent, NotifyPrograms, NotifySubject } from './notification.ts'

const SUBJECT = { router: 'INSTANCE', group: 'GROUP' } as const

/** A router that is removed reports FAULT to the program that is told of every change, and nothing to that of faults. */
const STATE: Readonly<Record<NotifyEvent, string>> = {
  active: 'MASTER',
  backup: 'BACKUP',
  fault: 'FAULT',
  stop: 'STOP',
  removed: 'FAULT',
}

const EVENTS: readonly NotifyEvent[] = ['active', 'backup', 'fault', 'stop', 'removed']

export type NotifyPlan = {
  readonly set: ProgramSet
  /** Positions in the set, in the order in which they are run. */
  readonly runs: Readonly<Record<NotifyEvent, readonly number[]>>
}

export function planOf({ kind, name }: NotifySubject, programs: NotifyPrograms): NotifyPlan {
  const { capabilities, change, unsafe, user } = programs
  const found: { readonly event: NotifyEvent; readonly argv: LaunchedArgv; readonly numbered: boolean }[] = []
  for (const event of EVENTS) {
    const own = event === 'removed' ? undefined : programs[event]
    if (own !== undefined) found.push({ event, argv: own, numbered: false })
    // The fourth argument is the priority, which comes with each run.
    if (change !== undefined)
      found.push({ event, argv: [...change, SUBJECT[kind], name, STATE[event]], numbered: true })
  }
  const runsOf = (event: NotifyEvent) => found.flatMap((each, index) => (each.event === event ? [index] : []))
  return {
    set: {
      programs: found.map(({ argv, numbered }) => ({ argv, numbered })),
      environment: {},
      user,
      capabilities,
      unsafe,
      spare: true,
    },
    runs: {
      active: runsOf('active'),
      backup: runsOf('backup'),
      fault: runsOf('fault'),
      stop: runsOf('stop'),
      removed: runsOf('removed'),
    },
  }
}
