/**
 * Tests the measuring programs on this machine before the runs, on a LAN without daemons where the time of every event
 * is known. This file decides what is compared. The test measures the programs' own punctuality, and compares their
 * outages with those of the demo's prober. The self-test also compares the time with two holders with the time for
 * which two kernels had the address. This file does not know VRRP.
 */
import { ip } from '../../src/lab/ip.ts'
import { createLab, type Host } from '../../src/lab/lab.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { startObservation } from './observation.ts'
import { type GaugeQuality, STEADY_MS } from './quality.ts'

const CUTS = 5
const CUT_MS = 60
const OVERLAP_MS = 80

export async function selfTest(): Promise<GaugeQuality> {
  const lab = createLab({ routers: 2 })
  try {
    const [r1, r2] = [lab.router(1), lab.router(2)]
    const observation = await startObservation(lab, { family: 4, cachedNeighbour: true })
    const address = (verb: 'add' | 'delete', host: Host) =>
      ip(host, `address ${verb} ${observation.address}/32 dev eth0 noprefixroute`)
    address('add', r1)
    startResponder(lab, r1)
    const other = new Prober(lab, lab.client, observation.address)
    await observation.answeredBy('r1')
    await sleep(200)
    const { gauge } = await observation.measure(monotonicMs(), STEADY_MS)

    const outageDifferencesMs: number[] = []
    for (let i = 0; i < CUTS; i++) {
      const at = lab.cut(r1)
      await sleep(CUT_MS + Math.random())
      lab.heal(r1)
      const { outageMs } = await observation.measure(at, 3 * CUT_MS)
      outageDifferencesMs.push(outageMs - other.longestGap(at - 2, at + 3 * CUT_MS))
    }
    await other.stop()

    const began = monotonicMs()
    address('add', r2)
    const added = monotonicMs()
    await sleep(OVERLAP_MS)
    const removing = monotonicMs()
    address('delete', r2)
    const removed = monotonicMs()
    const { overlapMs } = await observation.measure(began, removed - began + 20)
    await observation.close()
    const bounds = { overlapFromMs: removing - added, overlapToMs: removed - began }
    return { ...gauge, outageDifferencesMs, overlapMs, ...bounds }
  } finally {
    lab.destroy()
  }
}
