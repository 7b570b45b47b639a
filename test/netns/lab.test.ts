/** The example of docs/testing.md, which shows it from here to the last line. */
import { expect, onTestFinished, test } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP } from '../../src/lab/lab.ts'
import { monotonicMs } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'

describeNetns('a cable that is pulled', () => {
  test('the Backup answers after Active_Down_Interval', async () => {
    const lab = createLab({ routers: 2 })
    onTestFinished(() => lab.destroy())
    for (const host of lab.routers) startResponder(lab, host)
    const common = { intervalMs: 1_000, address: LAB_VIP }
    const daemons = [200, 100].map((priority, i) => new Holdfast(lab, { ...common, priority, host: lab.router(i + 1) }))
    await Promise.all(daemons.map((daemon) => daemon.ready()))
    const client = new Prober(lab, lab.client, LAB_VIP)
    await client.answeredBy('r1')
    const at = lab.unplug(lab.router(1))
    await client.answeredBy('r2')
    judgeTime(
      'ms without an answer',
      client.longestGap(at, monotonicMs()),
      activeDownIntervalMs(100, 1_000) + 500,
      'RFC 9568 §6.1',
    )
    expect(lab.holders(LAB_VIP)).toEqual(['r2'])
  })
})
