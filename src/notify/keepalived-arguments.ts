/**
 * The arguments of notify programs. The arguments are those of keepalived, because existing programs expect them
 * (VR-NTF-01). This file decides which programs run for which event, in which order and with which arguments, as
 * observed with keepalived 2.2.7. This file knows nothing about how a program is run.
 */
import type { LaunchedArgv, ProgramSet } from '../healthcheck/programs/program-set.ts'
import type { NotifyEvent, NotifyPrograms, NotifySubject } from './notification.ts'

const SUBJECT = { router: 'INSTANCE', group: 'GROUP' } as const

/**
 * keepalived's name of each state. The notify program for all changes gets FAULT for a removed router; the program for
 * faults is not run.
 */
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
  /** For each event, the positions in the set of the programs that run, in the order of the runs. */
  readonly runs: Readonly<Record<NotifyEvent, readonly number[]>>
}

export function planOf({ kind, name }: NotifySubject, programs: NotifyPrograms): NotifyPlan {
  const { capabilities, change, unsafe, user } = programs
  const found: { readonly event: NotifyEvent; readonly argv: LaunchedArgv; readonly numbered: boolean }[] = []
  for (const event of EVENTS) {
    const own = event === 'removed' ? undefined : programs[event]
    if (own !== undefined) found.push({ event, argv: own, numbered: false })
    // The fourth argument of a notify program is the priority, which differs for each run.
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
