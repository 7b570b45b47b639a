/**
 * Defines accidents of network cables: r1 or all routers are cut off and reconnected, with or without loss of carrier.
 * This file decides how long both sides of a cut are alone before the cut heals. This file does not know accidents of
 * daemons. In the scenario `partition`, the client receives all three routers, which do not receive each other. A split
 * brain of this kind is the most common one (multicast does not arrive), and can mislead a client.
 */
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { type Accident, afterMove, downMs, EQUAL, nothing, only, PRIORITIES, type Stage, silence } from './accident.ts'

/**
 * Milliseconds for which the client is observed after a heal. A client that sends to the wrong router needs up to 8 s
 * (delay and probes of its neighbour entry), and an idle client needs more.
 */
const LED_ASTRAY = 9_000
/**
 * Milliseconds after which a takeover sends no more announcements: the last one comes after 5 s, with either daemon. A
 * later announcement would hide a stale neighbour entry.
 */
const ANNOUNCED = 5_500

/**
 * Cuts r1 off until both sides have been Active for at least two Active_Down_Intervals and the client follows the
 * second router.
 */
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
    // With four such runs at a time, the labs occasionally lost 15 ms together. A run on its own loses nothing.
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
    // The takeover delays of equal routers differ by 3 ms. With four labs on two CPUs, a daemon may wait longer than
    // that for a CPU.
    company: { kind: 'equals', most: 2 },
    unsupported: only(['holdfast', 'keepalived'], 'vrrpd speaks multicast only'),
    strike: ({ lab }) => lab.cut(first(lab)),
    theory: (cell) => silence(cell, EQUAL),
    // A pair of competing Actives may mislead the client until the second batch of announcements, 5 s later.
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
