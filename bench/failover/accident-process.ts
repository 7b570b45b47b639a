/**
 * Defines accidents of the daemon of r1: one or all of its processes are killed or stopped. This file does not know
 * accidents of the host and its cable.
 */
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { type Accident, afterMove, downMs, farewell, type Stage, silence } from './accident.ts'

export function first({ daemons }: Stage) {
  const [daemon] = daemons
  if (daemon === undefined) throw new Error('no daemon was started')
  return daemon
}

/** Milliseconds for which the engine process is stopped (SIGSTOP). */
const FROZEN = 5_000
/**
 * Milliseconds after which the kernel has removed an address that no process renews (in holdfast, Active_Down_Interval
 * and at least 2 s), and a little more.
 */
const FORGOTTEN = 2_300

async function thawLater(stage: Stage, at: number): Promise<undefined> {
  await sleep(Math.max(0, at + FROZEN - monotonicMs()))
  first(stage).thaw()
}

export const PROCESS_ACCIDENTS: readonly Accident[] = [
  {
    name: 'engine',
    title: 'engine killed, its parent lives',
    strike: (stage) => first(stage).killEngine(),
    theory: farewell,
    // keepalived's parent process restarts a killed engine, which may win the election before another node takes over.
    // If the restarted engine wins, no address moves.
    windowMs: (cell) => afterMove(cell, downMs(cell) + 1_500),
  },
  {
    name: 'group',
    title: 'all its processes killed',
    strike: (stage) => first(stage).killAll(),
    theory: silence,
    windowMs: (cell) => Math.max(afterMove(cell), downMs(cell) + FORGOTTEN),
  },
  {
    name: 'frozen',
    title: `engine frozen for ${FROZEN / 1000} s, then resumed`,
    strike: (stage) => {
      const at = first(stage).freeze()
      return { at, meanwhile: thawLater(stage, at) }
    },
    theory: silence,
    // A keepalived that continues after a stop delays the probes of a lab beside it by half a second.
    company: { kind: 'frozen', most: 1 },
    // The router returns as a Backup, and becomes Active again because its priority is the highest.
    windowMs: (cell) => FROZEN + afterMove(cell),
  },
]
