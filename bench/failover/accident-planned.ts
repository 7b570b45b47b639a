/**
 * Defines planned changes by an operator: the daemon of r1 is stopped, told to yield, restarted or reloaded. This file
 * does not know accidents.
 */
import { Frr } from '../../src/lab/daemons/frr.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { type Accident, afterMove, downMs, farewell, nothing, only, PRIORITIES, type Stage } from './accident.ts'
import { first } from './accident-process.ts'

/** Longest time from the start of a process to its first output, in milliseconds. */
const START = 2_000

/**
 * Stops the daemon of r1. FRR's manual names `vrrp shutdown` for that, but this command needs a process start, so its
 * exact time would be unknown.
 */
function end(stage: Stage): number {
  const daemon = first(stage)
  return daemon instanceof Frr ? daemon.endAlone() : daemon.terminate()
}

async function goneForLong(stage: Stage): Promise<void> {
  const { cell, observation } = stage
  const daemon = first(stage)
  end(stage)
  await observation.answeredBy('r2', 5_000 + 3 * downMs(cell))
  // FRR leaves its zebra process behind, which the next FRR could not use.
  if (daemon instanceof Frr) daemon.killAll()
  await daemon.exited
  await sleep(2 * downMs(cell))
}

/** Lower priority for r1 that is still the highest of the group. */
const CHANGED = PRIORITIES[0] - 10

export const PLANNED_ACCIDENTS: readonly Accident[] = [
  { name: 'sigterm', title: 'SIGTERM', strike: end, theory: farewell, windowMs: afterMove },
  {
    name: 'yield',
    title: 'addresses handed over, the daemon stays',
    unsupported: only(['holdfast'], 'neither keepalived nor vrrpd can be asked to hand its addresses over and stay'),
    strike: (stage) => {
      const daemon = first(stage)
      if (daemon.yieldFor === undefined) throw new Error(`${daemon.kind} cannot yield`)
      return daemon.yieldFor(60_000)
    },
    theory: farewell,
    windowMs: afterMove,
  },
  {
    name: 'failback',
    title: 'the best router starts again',
    before: 'r2',
    prepare: goneForLong,
    strike: (stage) => {
      const at = monotonicMs()
      stage.restart(1)
      return at
    },
    theory: nothing,
    windowMs: (cell) => START + afterMove(cell, 3_000),
  },
  {
    name: 'reload',
    title: 'the Active reads its unchanged file again (SIGHUP)',
    strike: (stage) => first(stage).reload(stage.plan(1)),
    theory: nothing,
    windowMs: afterMove,
  },
  {
    name: 'reload-changed',
    title: `the Active reads its changed file (SIGHUP, priority ${PRIORITIES[0]} to ${CHANGED})`,
    strike: (stage) => first(stage).reload({ ...stage.plan(1), priority: CHANGED }),
    theory: nothing,
    windowMs: afterMove,
  },
]
