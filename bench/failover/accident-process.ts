/**
 * What happens to the daemon of r1 without its consent: parts of it die or stand still. Refuses to know what happens to
 * its host and its cable.
 */
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { type Accident, afterMove, downMs, farewell, type Stage, silence } from './accident.ts'

export function first({ daemons }: Stage) {
  const [daemon] = daemons
  if (daemon === undefined) throw new Error('no daemon was started')
  return daemon
}

/** How long the engine is stopped. */
const FROZEN = 5_000
/** How long the kernel keeps an address that nobody renews (holdfast: Active_Down_Interval, 2 s at least), and a little. */
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
    // keepalived's parent respawns a killed engine, which may win before anybody else does: then nothing moves.
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
    // When a keepalived is resumed, the probes of a lab beside it are half a second late, too.
    company: { kind: 'frozen', most: 1 },
    // Back as a Backup, and Active again because it is the better one.
    windowMs: (cell) => FROZEN + afterMove(cell),
  },
]
