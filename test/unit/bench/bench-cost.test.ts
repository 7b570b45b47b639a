/** What the cost benchmark makes of texts and figures: nothing is started, nothing is measured. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { budgetLines } from '../../../bench/cost/budgets.ts'
import { priceOf } from '../../../bench/cost/check-report.ts'
import { growth, lineThrough } from '../../../bench/cost/fit.ts'
import { expectedSeconds, isWrong, parties, readOptions } from '../../../bench/cost/options.ts'
import {
  groupCpuSeconds,
  groupMount,
  groupPath,
  hasJoined,
  memoryOf,
  statOf,
} from '../../../bench/cost/process-text.ts'
import { markdown } from '../../../bench/cost/report.ts'
import {
  bothVersions,
  type CellResult,
  type CheckCost,
  type CostDaemon,
  inOrder,
  keptOf,
  type Result,
} from '../../../bench/cost/result.ts'
import { changesIn, sightOfLog, troubleIn } from '../../../bench/cost/sight.ts'

describe("the kernel's texts", () => {
  const STAT = '42 (a) (b c) S 1 42 42 0 -1 4194560 900 0 0 0 120 30 7 3 20 0 11 0 5000 1000 200 18446744073709551615'

  test('/proc/PID/stat: a name with parentheses and spaces, CPU time of the process and its dead children', () => {
    expect(statOf(STAT)).toEqual({ name: 'a) (b c', threads: 11, cpuSeconds: 1.6 })
    expect(() => statOf('nothing')).toThrow('Cannot read /proc/PID/stat')
  })

  test('what this very process says of itself is read', () => {
    expect(statOf(readFileSync('/proc/self/stat', 'utf8')).cpuSeconds).toBeGreaterThan(0)
    expect(memoryOf(readFileSync('/proc/self/smaps_rollup', 'utf8'))?.rssKiB).toBeGreaterThan(1_000)
  })

  test('smaps_rollup: RSS and PSS, none of a process that has ended', () => {
    const text =
      '55f1-7fff ---p 00000000 00:00 0 [rollup]\nRss:                1700 kB\nPss:                 216 kB\nPss_Dirty: 116 kB\n'
    expect(memoryOf(text)).toEqual({ rssKiB: 1700, pssKiB: 216 })
    expect(memoryOf('')).toBeUndefined()
  })

  test('cgroups of version 2, also beside version 1', () => {
    const mounts =
      '36 25 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n37 25 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw'
    expect(groupMount(mounts)).toBe('/sys/fs/cgroup/unified')
    expect(groupMount('36 25 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu')).toBeUndefined()
    expect(groupPath('4:memory:/x\n0::/system.slice/y\n')).toBe('/system.slice/y')
    expect(groupCpuSeconds('usage_usec 284736\nuser_usec 1\n')).toBe(0.284736)
    expect(groupCpuSeconds('')).toBeUndefined()
  })

  test('/proc/net/igmp: who has joined 224.0.0.18', () => {
    expect(hasJoined('2\teth0      :     2      V3\n\t\t\t\t120000E0     1 0:00000000\t\t0\n')).toBe(true)
    expect(hasJoined('2\teth0      :     1      V3\n\t\t\t\t010000E0     1 0:00000000\t\t0\n')).toBe(false)
  })
})

describe('the states of a group', () => {
  const log = ['(v1) Entering BACKUP STATE', '(v2) Entering BACKUP STATE (init)', '(v1) Entering MASTER STATE']

  test("are the last that keepalived's log says", () => {
    expect([...sightOfLog(log)].map(([name, { state }]) => [name, state])).toEqual([
      ['v1', 'Active'],
      ['v2', 'Backup'],
    ])
  })

  const flap = ['(v1) Entering BACKUP STATE', '(v1) Entering MASTER STATE']
  const troubled = (role: string, routers: number, now: readonly string[], seconds: number) =>
    troubleIn(role, routers, sightOfLog(now), sightOfLog(log.slice(2)), seconds)

  test('a router that left and came back has changed twice; that is no trouble where it is rare', () => {
    const now = [...log.slice(2), ...flap]
    expect(changesIn(sightOfLog(now))).toBe(3)
    expect(troubled('Active', 1, now, 60)).toBeUndefined()
    expect(troubled('Active', 1, now, 10)).toBe(
      'unstable, 2 changes of state where Active should stay (last by MASTER)',
    )
  })

  test('a router elsewhere or missing, and a node that says nothing, are trouble', () => {
    expect(troubled('Active', 2, log, 60)).toBe('1 of 2 not Active where they should be (Backup)')
    expect(troubled('Active', 2, log.slice(2), 60)).toBe('1 of 2 not Active where they should be (missing)')
    expect(troubled('Active', 1, [], 60)).toBe('Active gave no account of itself')
  })
})

describe('the line', () => {
  test('goes through points that are on one, and says how far others are off', () => {
    const at = [1, 100, 255].map((x) => ({ x, y: 0.5 + 0.01 * x }))
    const line = lineThrough(at)
    expect(line?.base).toBeCloseTo(0.5)
    expect(line?.slope).toBeCloseTo(0.01)
    expect(line?.off).toBeCloseTo(0)
    expect(lineThrough([...at, { x: 100, y: 2.5 }])?.off).toBeGreaterThan(0.5)
  })

  test('needs two different x', () => {
    expect(lineThrough([])).toBeUndefined()
    expect(
      lineThrough([
        { x: 1, y: 1 },
        { x: 1, y: 2 },
      ]),
    ).toBeUndefined()
  })
})

function cell(daemon: CostDaemon, routers: number, cpu: number, more: Partial<CellResult> = {}): CellResult {
  const processes = [{ name: 'engine', threads: 11, rssKiB: 61_440 + 1_024 * routers, pssKiB: 40_960 }]
  const nodesCost = [
    { role: 'Active' as const, cpuPerMinute: cpu, processes },
    { role: 'Backup' as const, cpuPerMinute: cpu / 2, processes },
    { role: 'Backup' as const, cpuPerMinute: cpu / 4, processes },
  ]
  const group = { intervalMs: 1_000, nodes: 3, transport: 'multicast' as const }
  return { daemon, routers, ...group, at: '2026-01-02T03:04:05Z', nodesCost, pressure: 0.1, load: 0.5, ...more }
}

const check = (asks: string, cpuPerMinute: number, count = 10): CheckCost => ({
  ...{ daemon: 'holdfast', asks, count, cpuPerMinute, runsPerSecond: asks === 'nothing' ? 0 : count, memory: [] },
})

const RESULT: Result = {
  ...{ format: 1, startedAt: '2026-01-02T03:00:00Z', endedAt: '2026-01-02T04:00:00Z', command: 'bench' },
  machine: { kernel: '6.1', cpus: 2, processor: 'p', memoryMiB: 1_024 },
  ...{ versions: { holdfast: '1.0', keepalived: '2.0', node: '20' }, loadBefore: 0.5, warmUpSeconds: 30, seconds: 60 },
  cells: [
    cell('holdfast', 1, 0.2),
    cell('holdfast', 255, 2.74, { pressure: 0.9 }),
    cell('keepalived', 1, 0.01, { changes: 4 }),
    cell('keepalived', 255, 9, { trouble: 'keepalived unstable: 3 of 255 left Active meanwhile' }),
    cell('holdfast', 100, 1, { trouble: 'the Active ended: x | y', nodesCost: [] }),
  ],
  starts: [100, 200, 300].map((joinedMs) => ({ kind: 'holdfast', joinedMs, backupMs: joinedMs + 5 })),
  checks: [check('nothing', 0.2), check('http', 0.7)],
}

describe('the table', () => {
  const lines = markdown(RESULT).split('\n')
  const row = (start: string) => lines.find((line) => line.startsWith(`| ${start} |`))

  test('has Active and the mean of the Backups apart, memory of each process, and the weather', () => {
    expect(row('1 s | 1 | 3 | holdfast')).toContain('| 0.20 | 0.0750 | 61.0 (40.0) | 61.0 (40.0) | 10 %, 0.5 |')
    expect(row('1 s | 255 | 3 | holdfast')).toContain('90 % **noisy**')
  })

  test('names what could not be measured', () => {
    expect(row('1 s | 1 | 3 | keepalived')).toContain('| 4 changes of state meanwhile |')
    expect(row('1 s | 255 | 3 | keepalived')).toContain('(9.00)')
    expect(row('1 s | 255 | 3 | keepalived')).toContain('not measurable: keepalived unstable: 3 of 255')
    expect(row('1 s | 100 | 3 | holdfast')).toContain('not measurable: the Active ended: x / y')
  })

  test('has starts and checks', () => {
    expect(row('holdfast | 3')).toContain('| 100 / 200 / 300 | 105 / 205 / 305 |')
    expect(row('http | 10 | holdfast')).toContain('| 0.70 | 0.0500 | 1200 |')
  })
})

describe('the budgets', () => {
  const line = (of: string, result = RESULT) => budgetLines(result).find((one) => one.startsWith(`| ${of}`))

  test('are kept, missed, or not measured', () => {
    expect(line('CPU s/min, one router, Active at 1000 ms')).toContain('| 0.1 | 0.20 | 0.0100 | **missed** |')
    expect(line('CPU s/min, one router, Active at 10 ms')).toContain('| 2 | – | – | not measured |')
    expect(line('CPU s/min, 255 routers')).toContain('| 3 | 2.74 | – | kept, on a noisy machine |')
    expect(line('RSS MiB, one router')).toContain('| 70 | 61.0 | 61.0 | kept |')
    expect(line('start to Backup')).toContain('| 150 | 205 | – | **missed** |')
  })

  test('of a check are about one, not many', () => {
    const one = { ...RESULT, checks: [check('nothing', 0.2, 1), check('http', 0.24, 1)] }
    expect(line('CPU s/min, one http')).toContain('not measured')
    expect(line('CPU s/min, one http', one)).toContain('| 0.05 | 0.0400 | – | kept |')
  })
})

test('growth: only through cells that were as they should be', () => {
  const found = growth(RESULT.cells)
  expect(found.map(({ daemon, along, role }) => [daemon, along, role])).toEqual([
    ['holdfast', 'routers', 'Active'],
    ['holdfast', 'routers', 'Backup'],
  ])
  expect(found[0]?.cpu.slope).toBeCloseTo(0.01)
  expect(found[0]?.rss.slope).toBeCloseTo(1)
})

test('a check costs what the daemon takes more than without one; less than nothing is no price', () => {
  const all = [check('nothing', 0.2), check('http', 0.7), check('file', 0.1)]
  expect(all.map((one) => priceOf(one, all)?.perCpuSecond)).toEqual([undefined, expect.closeTo(1_200), undefined])
  expect(priceOf(check('http', 0.7), [])).toBeUndefined()
})

describe('a run that goes on', () => {
  const weathered = { ...RESULT, startWeather: { pressure: 0.9, load: 4 }, checkWeather: { pressure: 0.1, load: 1 } }
  const names = ({ cells }: Result) => cells.map(({ daemon, routers }) => `${daemon} ${routers}`)

  test('keeps what was measured undisturbed, cell by cell; starts and checks whole or not at all', () => {
    const kept = keptOf(weathered, RESULT.cells, ['idle', 'start', 'checks'])
    expect(names(kept)).toEqual(['holdfast 1', 'keepalived 1'])
    expect([kept.starts, kept.startWeather]).toEqual([[], undefined])
    expect(kept.checks).toEqual(RESULT.checks)
  })

  test('keeps all that it is not asked for', () => {
    const kept = keptOf(weathered, [cell('keepalived', 255, 0)], ['idle'])
    expect(names(kept)).toEqual(['holdfast 1', 'holdfast 255', 'keepalived 1', 'holdfast 100'])
    expect(kept.starts).toHaveLength(3)
    expect(names(keptOf(weathered, RESULT.cells, ['checks']))).toEqual(names(RESULT))
  })

  test('puts its cells among those it found, and says both versions', () => {
    const asked = [cell('holdfast', 1, 0), cell('keepalived', 1, 0), cell('holdfast', 255, 0)]
    const measured = [cell('holdfast', 7, 1), cell('holdfast', 255, 3), cell('keepalived', 1, 2)]
    expect(inOrder(asked, measured).map(({ routers }) => routers)).toEqual([1, 255, 7])
    expect(bothVersions({ holdfast: 'a', frr: '8' }, { holdfast: 'b', node: '20' })).toEqual({
      ...{ holdfast: 'a and b', frr: '8', node: '20' },
    })
    expect(bothVersions({ holdfast: 'a and b' }, { holdfast: 'b' })).toEqual({ holdfast: 'a and b' })
  })
})

describe('the command line', () => {
  const read = (...argv: readonly string[]) => readOptions(argv, 'out')

  test('routers grow at the first number of nodes, nodes and unicast at the first of routers', () => {
    const { cells } = read('--interval', '1s', '--daemon', 'holdfast')
    expect(cells.map(({ routers, nodes, transport }) => `${routers}x${nodes}${transport[0]}`)).toEqual([
      '1x2m',
      '100x2m',
      '255x2m',
      '1x3m',
      '1x5m',
      '1x2u',
      '1x3u',
      '1x5u',
    ])
  })

  test('the daemons take turns', () => {
    expect(read('--interval', '1s,10ms', '--nodes', '2', '--routers', '1', '--transport', 'unicast').cells).toEqual(
      [1_000, 10].flatMap((intervalMs) =>
        ['holdfast', 'keepalived'].map((daemon) => ({
          daemon,
          intervalMs,
          routers: 1,
          nodes: 2,
          transport: 'unicast',
        })),
      ),
    )
  })

  test('says how long it takes', () => {
    const seconds = (...more: readonly string[]) => expectedSeconds(read('--part', 'idle', ...more))
    expect(seconds('--seconds', '60') - seconds('--seconds', '30')).toBeCloseTo(30 * 48)
  })

  test.each([
    ['--routers', '256'],
    ['--nodes', '1'],
    ['--interval', '5ms'],
    ['--daemon', 'x'],
    ['--seconds', ''],
    ['--x'],
  ])('refuses %s %s', (...argv) => {
    const attempt = () => {
      try {
        read(...argv)
        return false
      } catch (error) {
        return isWrong(error)
      }
    }
    expect(attempt()).toBe(true)
  })
})

test('groups are counted at the same time as long as the machine has little to do', () => {
  const argv = ['--routers', '1,255', '--nodes', '2', '--transport', 'multicast', '--interval', '1s,100ms']
  const at = (groups: string) =>
    parties(readOptions([...argv, '--groups', groups], '/out')).map((party) =>
      party.map(({ intervalMs, routers }) => `${routers} × ${intervalMs}`),
    )
  expect(at('1')).toHaveLength(8)
  expect(at('6')).toEqual([
    ['1 × 1000', '1 × 1000', '255 × 1000'],
    ['255 × 1000', '1 × 100', '1 × 100'],
    ['255 × 100'],
    ['255 × 100'],
  ])
})
