/**
 * Shows on a real kernel that a Backup reads all received packets before it takes over (ground rule 2: a waiting packet
 * counts). The event loop of a Backup with an interval of 10 ms is blocked for 200 ms, six times longer than its
 * Active_Down_Interval. The loop then finds its timer expired, and advertisements in the socket that forbid a takeover.
 * Stalls of the same kind without the drain show that the test can fail.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, type TestContext } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP } from '../../src/lab/lab.ts'
import { CannotBeJudged } from '../judge/time.ts'
import { describeNetns, describeRawSocket } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

const STALLS = 10
const STALL_MS = 200
const INTERVAL_MS = 10
/** Number of stalls, of ten, that must be usable. A busy machine does not lower this number. */
const JUDGED = 8

type Stall = {
  readonly phase: string
  readonly stalledMs: number
  readonly state: string
  readonly takeovers: readonly { readonly afterMs: number; readonly reason: string }[]
  readonly heard: number
  readonly longestGapMs: number
}

describeNetns('a Backup whose event loop was stalled', () => {
  /** A stall takes a CPU. */
  const turns = new Turns(2)

  /** Stalls a Backup on a LAN of its own, so that a false takeover misleads no other Backup. */
  async function stallBackup(
    { onTestFinished }: TestContext,
    mode: 'drain' | 'no-drain',
    io = 'addon',
  ): Promise<Stall[]> {
    const lab = createLab({ routers: 2 })
    onTestFinished(() => lab.destroy())
    const plan = { intervalMs: INTERVAL_MS, address: LAB_VIP }
    const active = new Holdfast(lab, { ...plan, host: lab.router(1), priority: 200 }, {}, ['--realtime'])
    await active.ready()
    await active.becomes('Active', 5_000)
    const host = lab.router(2)
    const file = join(lab.directory, 'stalled.yaml')
    writeFileSync(file, holdfastConfig({ ...plan, host, priority: 100 }, join(lab.directory, 'stalled'), {}, { io }))
    const script = join(import.meta.dirname, '..', 'support', 'stalled-backup.mjs')
    const [command = '', ...argv] = lab.commandOn(host, ['node', script, file, mode, `${STALLS}`, `${STALL_MS}`])
    const { stdout } = await promisify(execFile)(command, argv, { timeout: 45_000 })
    return stdout
      .trim()
      .split('\n')
      .map((line): Stall => JSON.parse(line))
  }

  /** Reports whether the machine was too slow. An Active that was silent for an Active_Down_Interval is rightly replaced. */
  const activeWasLate = (stall: Stall) => stall.longestGapMs >= activeDownIntervalMs(100, INTERVAL_MS)

  async function neverTakesOver(context: TestContext, io: 'addon' | 'raw-socket'): Promise<void> {
    const stalls = await stallBackup(context, 'drain', io)
    expect(stalls).toHaveLength(STALLS)
    const inTime = stalls.filter((stall) => !activeWasLate(stall))
    const wrong = inTime.filter((stall) => stall.takeovers.length > 0)
    expect(
      wrong,
      `stalls of ${STALL_MS} ms after which the Backup took over although the Active's advertisements had arrived`,
    ).toEqual([])
    if (inTime.length < JUDGED)
      throw new CannotBeJudged(`the Active was in time in ${inTime.length} of ${STALLS} stalls, ${JUDGED} wanted`)
  }

  turns.test('never takes over from a living Active', (context) => neverTakesOver(context, 'addon'))

  turns.test('takes over falsely if its timer decides alone', async (context) => {
    const stalls = await stallBackup(context, 'no-drain')
    const misled = stalls.filter((stall) => stall.takeovers.length > 0).length
    expect(
      misled,
      `false takeovers in ${STALLS} stalls with the drain switched off: ${JSON.stringify(stalls)}`,
    ).toBeGreaterThanOrEqual(8)
  })

  describeRawSocket('a Backup whose event loop was stalled, with raw-socket', () => {
    turns.test('never takes over from a living Active through raw-socket', (context) =>
      neverTakesOver(context, 'raw-socket'),
    )
  })
})
