/**
 * Measures takeovers for which there is no fault: under CPU load and under loss of advertisements, with and without
 * real-time priority. This file decides how often a Backup took over, counted from the packets on the wire. This file
 * does not know how the load is made.
 */

import { frrSource } from '../../src/lab/daemons/frr.ts'
import { ip } from '../../src/lab/ip.ts'
import { type Host, Lab } from '../../src/lab/lab.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { type Accident, type Cell, type Figures, only, type Stage, type Theory } from './accident.ts'
import { loseAdvertisements, startBusyLoops } from './load.ts'
import { expectedTakeovers, lateHolders, takeoversIn } from './takeovers.ts'

const WINDOW = 20_000
const LOOPS = [2, 4] as const
const LOSSES = [5, 10, 20] as const
const BACKUPS = 2

/**
 * Returns the lab. Throws if the bridge of the lab has no namespace of its own, because the wire is observed and
 * packets are dropped in that namespace.
 */
function bridged({ lab }: Stage): Lab {
  if (lab instanceof Lab) return lab
  throw new Error('Cannot look at the bridge of this lab')
}

/** Returns the source address of the host's advertisements. */
function sourceOf({ cell }: Stage, host: Host): string {
  if (cell.family === 4) return host.address
  if (cell.lineUp === 'frr') return frrSource(host)
  const text = ip(host, '-6 -o address show dev eth0 scope link')
  return /inet6 (fe80:[0-9a-f:]+)/.exec(text)?.[1] ?? ''
}

/** Observes the packets on the wire until the end of the measuring window, and counts the takeovers. */
async function count(stage: Stage, at: number, capture: Capture): Promise<Figures> {
  const { cell, lab } = stage
  await sleep(Math.max(0, at + WINDOW - monotonicMs()))
  const holder = sourceOf(stage, lab.router(1))
  const frames = (await capture.stop()).filter(({ priority }) => priority !== '')
  const seen = frames.map((each) => ({
    atMs: Number(each.at) * 1_000,
    source: each.source,
    priority: Number(each.priority),
  }))
  if (!seen.some(({ source }) => source === holder)) throw new Error(`no advertisement of ${holder} was seen`)
  const takeovers = takeoversIn(seen, holder, cell.intervalMs)
  return { takeovers: takeovers.length, holderLate: lateHolders(takeovers, seen, holder, cell.intervalMs) }
}

function disturbed(
  shape: Pick<Accident, 'name' | 'title' | 'company'>,
  disturb: (stage: Stage) => void,
  expected: (cell: Cell) => number,
): readonly Accident[] {
  const theory = (cell: Cell): Theory => ({ of: 'takeovers', from: expected(cell), to: expected(cell) })
  return [false, true].map((realtime) => ({
    ...shape,
    name: `${shape.name}${realtime ? '-realtime' : ''}`,
    title: `${shape.title}, ${WINDOW / 1000} s${realtime ? ', real-time priority' : ''}`,
    group: { realtime },
    ...(realtime ? { unsupported: only(['holdfast', 'keepalived'], 'vrrpd has no real-time priority') } : {}),
    strike: async (stage) => {
      const { cell } = stage
      const capture = await Capture.start(
        bridged(stage),
        'steady',
        cell.family === 4 ? 'ip proto 112' : 'ip6 proto 112',
      )
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
      { name: `load${loops}`, title: `false takeovers, ${loops} busy loops`, company: { kind: 'load', most: 1 } },
      (stage) => void startBusyLoops(bridged(stage), loops),
      () => 0,
    ),
  ),
  ...LOSSES.flatMap((percent) =>
    disturbed(
      {
        ...{ name: `loss${percent}`, title: `false takeovers, ${percent} % of the advertisements lost` },
        // The packet capture that counts takeovers needs a CPU for a second at its start.
        company: { kind: 'losses', most: 4 },
      },
      (stage) => loseAdvertisements(bridged(stage), percent),
      ({ intervalMs }) => expectedTakeovers(percent / 100, BACKUPS, WINDOW, intervalMs),
    ),
  ),
]
