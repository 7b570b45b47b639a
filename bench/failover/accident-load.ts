/**
 * Nothing fails, and who takes over nevertheless: under CPU load and under loss of advertisements, with and without
 * real-time priority. Decides how often a Backup took over, by what was on the wire. Refuses to know how load is made.
 */
import { run } from '../../src/cli/demo-network.ts'
import { frrSource } from '../../test/support/frr.ts'
import type { Host } from '../../test/support/lab.ts'
import { Capture } from '../../test/support/tshark.ts'
import { monotonicMs, sleep } from '../../test/support/wait.ts'
import { type Accident, type Cell, type Figures, only, type Stage, type Theory } from './accident.ts'
import { loseAdvertisements, startBusyLoops } from './load.ts'
import { countTakeovers, expectedTakeovers } from './takeovers.ts'

const WINDOW = 20_000
const LOOPS = [2, 4] as const
const LOSSES = [5, 10, 20] as const
const BACKUPS = 2

/** Where its advertisements come from. */
function sourceOf({ cell }: Stage, host: Host): string {
  if (cell.family === 4) return host.address
  if (cell.lineUp === 'frr') return frrSource(host)
  const text = run(['ip', '-n', host.namespace, '-6', '-o', 'address', 'show', 'dev', 'eth0', 'scope', 'link'])
  return /inet6 (fe80:[0-9a-f:]+)/.exec(text)?.[1] ?? ''
}

/** Watches the wire until the window ends. */
async function count(stage: Stage, at: number, capture: Capture): Promise<Figures> {
  const { cell, lab } = stage
  await sleep(Math.max(0, at + WINDOW - monotonicMs()))
  const owner = sourceOf(stage, lab.router(1))
  const frames = (await capture.stop()).filter(({ priority }) => priority !== '')
  const seen = frames.map((each) => ({
    atMs: Number(each.at) * 1_000,
    source: each.source,
    priority: Number(each.priority),
  }))
  if (!seen.some(({ source }) => source === owner)) throw new Error(`no advertisement of ${owner} was seen`)
  return { takeovers: countTakeovers(seen, owner, cell.intervalMs) }
}

function disturbed(
  shape: Pick<Accident, 'name' | 'title'>,
  disturb: (stage: Stage) => void,
  expected: (cell: Cell) => number,
): readonly Accident[] {
  const theory = (cell: Cell): Theory => ({ of: 'takeovers', from: expected(cell), to: expected(cell) })
  return [false, true].map((realtime) => ({
    name: `${shape.name}${realtime ? '-realtime' : ''}`,
    title: `${shape.title}, ${WINDOW / 1000} s${realtime ? ', real-time priority' : ''}`,
    group: { realtime },
    ...(realtime ? { unsupported: only(['holdfast', 'keepalived'], 'vrrpd has no real-time priority') } : {}),
    strike: async (stage) => {
      const { cell, lab } = stage
      const capture = await Capture.start(lab, 'steady', cell.family === 4 ? 'ip proto 112' : 'ip6 proto 112')
      const at = monotonicMs()
      disturb(stage)
      return { at, meanwhile: count(stage, at, capture) }
    },
    theory,
    windowMs: () => WINDOW,
  }))
}

export const LOAD_ACCIDENTS: readonly Accident[] = [
  ...LOOPS.flatMap((loops) =>
    disturbed(
      { name: `load${loops}`, title: `false takeovers, ${loops} busy loops` },
      ({ lab }) => void startBusyLoops(lab, loops),
      () => 0,
    ),
  ),
  ...LOSSES.flatMap((percent) =>
    disturbed(
      { name: `loss${percent}`, title: `false takeovers, ${percent} % of the advertisements lost` },
      ({ lab }) => loseAdvertisements(lab, percent),
      ({ intervalMs }) => expectedTakeovers(percent / 100, BACKUPS, WINDOW, intervalMs),
    ),
  ),
]
