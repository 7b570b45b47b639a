/**
 * A node starts beside a healthy Active, at an interval of 10 ms. The node takes over after it has loaded all code that it needs, and not
 * earlier (docs/adr/0057). A busy machine cannot hold three intervals of 10 ms, so the test judges the order of the events only.
 */
import { expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const STARTS = 3

describeNetns('a node that starts beside a healthy Active', () => {
  test('takes over after it has loaded all code that it needs, and not earlier', { timeout: 120_000 }, async () => {
    const lab = createLab({ routers: 2, clients: ['client'] })
    try {
      const nodeOf = (position: number, priority: number) => {
        const plan = { host: lab.router(position), priority, intervalMs: 10, address: LAB_VIP, realtime: true }
        return new Holdfast(lab, plan, {}, [], { log: { level: 'debug' } })
      }
      const active = nodeOf(2, 150)
      const isActive = async () => (await active.state()) === 'Active'
      const last = (node: Holdfast) => () => node.lines.slice(-3).map(({ text }) => text)
      await eventually('r2 to be Active', isActive, { sight: last(active), within: 15_000 })
      for (let i = 1; i <= STARTS; i++) {
        const started = nodeOf(1, 200)
        const place = (words: string) => started.records.findIndex(({ msg }) => msg.includes(words))
        const takeover = () => place('Backup → Active: the previous Active had a lower priority') >= 0
        await eventually('r1 to take over', takeover, { sight: last(started), within: 15_000 })
        const [loaded, took] = [
          place('Loaded and rehearsed'),
          place('Backup → Active: the previous Active had a lower priority'),
        ]
        expect(loaded, `start ${i}: position of the log record about the loaded code`).toBeGreaterThanOrEqual(0)
        expect(
          loaded,
          `start ${i}: positions of the log records about the loaded code and about the takeover`,
        ).toBeLessThan(took)
        started.terminate()
        await started.exited
        await eventually('r2 to be Active again', isActive, { sight: last(active), within: 5_000 })
      }
    } finally {
      lab.destroy()
    }
  })
})
