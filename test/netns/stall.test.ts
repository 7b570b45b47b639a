/**
 * Ground rule 2 on a real kernel: a Backup at 10 ms advertisements whose loop is blocked for 200 ms, six times longer
 * than its Active_Down_Interval, finds its timer expired and the advertisements that forbid it in the socket. The same
 * stalls with the drain switched off show that the test can fail.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'
import { CannotBeJudged } from '../judge/time.ts'
import { describeNetns, describeRawSocket } from '../support/require.ts'

const STALLS = 10
const STALL_MS = 200
const INTERVAL_MS = 10
/** Stalls of ten that have to say something; the number is not lowered for a machine that was late. */
const JUDGED = 8

type Stall = {
  readonly phase: string
  readonly stalledMs: number
  readonly state: string
  readonly takeovers: readonly { readonly afterMs: number; readonly reason: string }[]
  readonly heard: number
  readonly longestGapMs: number
}

describeNetns('a stalled Backup', () => {
  let lab: Lab
  let active: Holdfast

  beforeAll(async () => {
    lab = createLab({ routers: 2 })
    const plan = { host: lab.router(1), priority: 200, intervalMs: INTERVAL_MS, address: LAB_VIP }
    active = new Holdfast(lab, plan, {}, ['--realtime'])
    await active.ready()
    await eventually(
      'r1 to be Active',
      async () => (await active.state()) === 'Active',
      () => active.lines.slice(-3),
      {
        within: 5_000,
      },
    )
  })
  afterAll(() => lab.destroy())

  function stallBackup(mode: 'drain' | 'no-drain', io = 'addon'): Stall[] {
    const host = lab.router(2)
    const plan = { host, priority: 100, intervalMs: INTERVAL_MS, address: LAB_VIP }
    const directory = join(lab.directory, 'stalled')
    const file = join(lab.directory, `stalled-${mode}-${io}.yaml`)
    writeFileSync(file, holdfastConfig(plan, directory, {}, { io }))
    const script = join(import.meta.dirname, '..', 'support', 'stalled-backup.mjs')
    const [command = '', ...argv] = lab.commandOn(host, ['node', script, file, mode, `${STALLS}`, `${STALL_MS}`])
    const output = execFileSync(command, argv, { encoding: 'utf8', timeout: 45_000 })
    return output
      .trim()
      .split('\n')
      .map((line): Stall => JSON.parse(line))
  }

  /** The machine may be slower than the protocol: an Active that was silent for as long as that is rightly replaced. */
  const activeWasLate = (stall: Stall) => stall.longestGapMs >= activeDownIntervalMs(100, INTERVAL_MS)

  function neverTakesOver(io: 'addon' | 'raw-socket'): void {
    const stalls = stallBackup('drain', io)
    expect(stalls).toHaveLength(STALLS)
    const inTime = stalls.filter((stall) => !activeWasLate(stall))
    const wrong = inTime.filter((stall) => stall.takeovers.length > 0)
    expect(wrong, `stalls of ${STALL_MS} ms after which the Backup took over although the Active was heard`).toEqual([])
    if (inTime.length < JUDGED)
      throw new CannotBeJudged(`the Active was in time in ${inTime.length} of ${STALLS} stalls, ${JUDGED} wanted`)
  }

  test('never takes over from a living Active', () => neverTakesOver('addon'))

  describeRawSocket('through raw-socket', () => {
    test('never takes over from a living Active either', () => neverTakesOver('raw-socket'))
  })

  test('would take over falsely if its timer decided alone', () => {
    const stalls = stallBackup('no-drain')
    const misled = stalls.filter((stall) => stall.takeovers.length > 0).length
    expect(
      misled,
      `false takeovers in ${STALLS} stalls with the drain switched off: ${JSON.stringify(stalls)}`,
    ).toBeGreaterThanOrEqual(8)
  })
})
