/**
 * Accidents of cables: r1 or all routers are cut off and return, with or without loss of carrier. This file decides how
 * long both sides of a cut are alone before it heals. This file does not know accidents of daemons. In the partition
 * the client receives all three routers, which do not receive each other. This is the most common split brain
 * (multicast that does not arrive), and it can mislead a client.
 */
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { type Accident, afterMove, downMs, EQUAL, nothing, only, PRIORITIES, type Stage, silence } from './accident.ts'

/**
 * Milliseconds. A misled client needs up to 8 s after a heal (a neighbour entry's delay and probes), and an idle client
 * more.
 */
const LED_ASTRAY = 9_000
/**
 * Milliseconds. The last announcement of a takeover comes after 5 s, with either daemon, and would hide a stale entry.
 */
const ANNOUNCED = 5_500

/** Both sides are Active for at least two Active_Down_Intervals, and the client follows the second. */
async function cutForLong({ cell, lab, observation }: Stage): Promise<void> {
  await sleep(ANNOUNCED)
  const down = downMs(cell)
  const cutAt = lab.cut(lab.router(1))
  await observation.answeredBy('r2', 5_000 + 3 * down)
  await sleep(Math.max(0, cutAt + 3.5 * down - monotonicMs()))
}

async function partForLong({ cell, daemons, lab }: Stage): Promise<void> {
  await sleep(ANNOUNCED)
  lab.isolate(lab.routers)
  const down = downMs(cell, PRIORITIES[2])
  const until = monotonicMs() + 5_000 + 3 * down
  const states = () => Promise.all(daemons.map((daemon) => daemon.state()))
  while ((await states()).some((state) => state !== 'Active')) {
    if (monotonicMs() > until) throw new Error(`three parted routers are ${await states()}`)
    await sleep(50)
  }
  await sleep(2.5 * down)
}

type Variant = { readonly suffix: string; readonly title: string; readonly forward: boolean; readonly fresh: boolean }
const VARIANTS: readonly Variant[] = [
  { suffix: '', title: '', forward: false, fresh: false },
  { suffix: '-forward', title: ', ip_forward 1', forward: true, fresh: false },
  { suffix: '-fresh', title: ', client without a neighbour entry', forward: false, fresh: true },
  { suffix: '-forward-fresh', title: ', ip_forward 1, client without a neighbour entry', forward: true, fresh: true },
]

const healed = (shape: Pick<Accident, 'name' | 'title' | 'before' | 'prepare' | 'strike'>): readonly Accident[] =>
  VARIANTS.map(({ suffix, title, forward, fresh }) => ({
    ...shape,
    name: `${shape.name}${suffix}`,
    title: `${shape.title}${title}`,
    group: { forward, freshNeighbour: fresh },
    theory: nothing,
    // Four at a time occasionally lost 15 ms together, while one alone loses none.
    company: { kind: 'heals', most: 2 },
    windowMs: (cell) => afterMove(cell, LED_ASTRAY),
  }))

const first = (lab: Stage['lab']) => lab.router(1)

export const PATH_ACCIDENTS: readonly Accident[] = [
  {
    name: 'cut',
    title: 'silent death (path cut, carrier up)',
    strike: ({ lab }) => lab.cut(first(lab)),
    theory: silence,
    windowMs: afterMove,
  },
  {
    name: 'carrier',
    title: 'carrier lost (cable pulled)',
    strike: ({ lab }) => lab.unplug(first(lab)),
    theory: silence,
    windowMs: afterMove,
  },
  {
    name: 'interface-down',
    title: 'interface turned off on the node',
    strike: ({ lab }) => lab.setLink(first(lab), 'down'),
    theory: silence,
    windowMs: afterMove,
  },
  {
    name: 'equal',
    title: 'silent death among equals (priority 100, unicast)',
    group: { equal: true },
    // Ranks are 3 ms apart. With four labs on two CPUs a daemon may wait longer than that for a CPU.
    company: { kind: 'equals', most: 2 },
    unsupported: only(['holdfast', 'keepalived'], 'vrrpd speaks multicast only'),
    strike: ({ lab }) => lab.cut(first(lab)),
    theory: (cell) => silence(cell, EQUAL),
    // A contest of two Actives may mislead the client until the second batch of announcements, 5 s later.
    windowMs: (cell) => afterMove(cell, 6_000),
  },
  ...healed({
    name: 'heal',
    title: 'cut healed, both were Active',
    before: 'r2',
    prepare: cutForLong,
    strike: ({ lab }) => lab.heal(first(lab)),
  }),
  ...healed({
    name: 'partition',
    title: 'three-way partition healed, all were Active',
    prepare: partForLong,
    strike: ({ lab }) => lab.unite(lab.routers),
  }),
]
