/** The soak's own judgement: that its plan does what it says, and that a leak, a socket that is left and a lost answer are seen. */
import { describe, expect, test } from 'vitest'
import type { WitnessRecord } from '../../../src/lab/watch/witness.ts'
import type { Injected } from '../../chaos/chaos-run.ts'
import { judge } from '../../judge/judge.ts'
import { circumstancesOf, stolenBetween } from '../../soak/company.ts'
import { differences, growthOf, median, type Point, slopePerHour, windowsOf } from '../../soak/flatness.ts'
import { atRest, inodesOf, kindOf, type NodeSample, type ProcessSample, socketsOf } from '../../soak/samples.ts'
import { accountOf, type Scrape } from '../../soak/scrapes.ts'
import { soakRules } from '../../soak/soak-bounds.ts'
import { isFailover, judgeMemory } from '../../soak/soak-judge.ts'
import { FAILOVERS, makeSoakPlan, type SoakFault, type SoakKind } from '../../soak/soak-plan.ts'
import type { NamedHeapLook, TimedSample } from '../../soak/soak-run.ts'
import { idleSteps } from '../../soak/steps.ts'
import { history, type Step, seen } from './histories.ts'

const HOUR = 3_600

describe('a plan', () => {
  const plan = makeSoakPlan({ seconds: HOUR, warmUp: HOUR / 6 })
  const failovers = plan.steps.filter(isFailover)
  const counts = FAILOVERS.map((kind) => failovers.filter((step) => step.kind === kind).length)

  test('is the same for the same options', () => {
    expect(makeSoakPlan({ seconds: HOUR, warmUp: HOUR / 6 })).toEqual(plan)
  })

  test('has a failover every ten seconds, each way about as often, and a reload a minute', () => {
    expect(failovers.length).toBe(360)
    expect(Math.max(...counts) - Math.min(...counts), `${counts}`).toBeLessThanOrEqual(2)
    expect(plan.steps.length - failovers.length).toBe(60)
  })

  test('ends processes of r1 alone, and makes each node the holder', () => {
    const ended = plan.steps.filter(({ kind }) => kind === 'stop' || kind === 'kill engine')
    expect(new Set(ended.map(({ node }) => node))).toEqual(new Set(['r1']))
    expect(new Set(failovers.map(({ node }) => node))).toEqual(new Set(['r1', 'r2', 'r3']))
  })

  test('ends with r1 as the holder, also where it was another one', () => {
    for (const seconds of [HOUR, 80, 100]) {
      const { steps } = makeSoakPlan({ seconds, warmUp: HOUR })
      const moves = steps.filter(({ kind }) => kind === 'reload, other priority').map(({ variant }) => variant)
      expect(moves.filter((one) => one === 'up').length, `${seconds} s: ${moves}`).toBe(moves.length / 2)
    }
  })

  test('looks at the heaps after a warm-up, while r1 is the holder', () => {
    expect(plan.looks.length).toBeGreaterThanOrEqual(4)
    expect(plan.looks[0]).toBeGreaterThanOrEqual(600_000)
    for (const at of plan.looks) {
      const last = plan.steps.findLast((step) => step.kind === 'reload, other priority' && step.at <= at)
      expect(last?.variant, `at ${at} ms`).toBe('back')
    }
  })
})

describe('memory', () => {
  /** An hour, a sample every five seconds: a saw tooth of 4 MiB and `leak` KiB an hour. */
  const points = (leak: number): Point[] =>
    Array.from({ length: 720 }, (_, i) => ({ at: i * 5, value: 90_000 + (i % 140) * 30 + (leak * i) / 720 }))
  const growth = (leak: number, allowed: number) =>
    growthOf({ name: 'r2 engine', points: points(leak) }, windowsOf(HOUR), allowed)

  test('a saw tooth is flat, a leak is not', () => {
    expect(growth(0, 8_192)).toMatchObject({ flat: true })
    expect(growth(20_000, 8_192)).toMatchObject({ flat: false })
  })

  test('without samples it is not flat', () => {
    expect(growthOf({ name: 'r2 engine', points: [] }, windowsOf(HOUR), 8_192).flat).toBe(false)
    const early = points(0).filter(({ at }) => at < HOUR / 2)
    expect(growthOf({ name: 'r2 engine', points: early }, windowsOf(HOUR), 8_192).flat).toBe(false)
  })

  test('a slope is one an hour, and no outlier moves it', () => {
    const line = Array.from({ length: 50 }, (_, i) => ({ at: i * 60, value: i === 20 ? 9_999 : i }))
    expect(slopePerHour(line)).toBeCloseTo(60, 6)
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2.5)
  })

  const process = (role: ProcessSample['role'], rssKiB: number): ProcessSample => {
    return { role, pid: 1, rssKiB, anonKiB: rssKiB, threads: 1, counts: { descriptors: 9 } }
  }
  const samples = (leak: number): TimedSample[] =>
    points(leak).flatMap(({ at, value }) =>
      ['r2', 'r3'].map((node): TimedSample => {
        const processes = [process('guardian', 100), process('engine', value), process('launcher', 64)]
        return { at, node, sample: { processes, sockets: {} } }
      }),
    )
  const heaps = (leak: number): NamedHeapLook[] =>
    ['r2', 'r3'].flatMap((node) =>
      [0, 1].flatMap((threadId) =>
        ['beginning', '10.1', '30.1', 'end'].map((look, i) => ({
          ...{ node, pid: 1, threadId, look, used: 12_000_000 + 1_024 * leak * (i / 3) },
        })),
      ),
    )

  test('of an hour is judged: nothing wrong, a leak in the process, a leak in a heap', () => {
    expect(judgeMemory({ samples: samples(0), heaps: heaps(0), seconds: HOUR }).wrong).toEqual([])
    const leaking = judgeMemory({ samples: samples(20_000), heaps: heaps(0), seconds: HOUR })
    expect(leaking.wrong.map((text) => text.split(':')[0])).toEqual(['r2 engine', 'r3 engine'])
    const growing = judgeMemory({ samples: samples(0), heaps: heaps(6_000), seconds: HOUR })
    expect(growing.wrong).toHaveLength(4)
    expect(growing.wrong[0]).toMatch(/^r2 engine: expected a heap of at most 1536 KiB more/)
  })

  test('of a few minutes is told, and not judged', () => {
    const short = judgeMemory({ samples: samples(90_000), heaps: heaps(9_000), seconds: 300 })
    expect(short).toMatchObject({ judged: false, wrong: [] })
    expect(short.growths).toHaveLength(6)
  })

  test('a heap that was not looked at is wrong', () => {
    const seen = heaps(0).filter(({ look }) => look !== 'end')
    expect(judgeMemory({ samples: samples(0), heaps: seen, seconds: HOUR }).wrong).toHaveLength(4)
  })
})

describe('at rest', () => {
  const before = new Map([['r2 engine', { descriptors: 40, packet: 3 }]])

  test('the same is the same; a socket that is left, or a process, is told', () => {
    expect(differences(before, new Map(before))).toEqual([])
    expect(differences(before, new Map([['r2 engine', { descriptors: 41, packet: 4 }]]))).toEqual([
      'r2 engine: expected 40 descriptors at rest as at the beginning, saw 41',
      'r2 engine: expected 3 packet at rest as at the beginning, saw 4',
    ])
    expect(differences(before, new Map([['r2 engine', { descriptors: 39, packet: 2 }]]))).toEqual([
      'r2 engine: expected 3 packet at rest as at the beginning, saw 2',
    ])
    expect(differences(before, new Map())).toEqual([
      'r2 engine: expected it at both looks at rest, saw it only at the beginning',
    ])
  })

  test('a poll that was under way at one look is not counted, programs never are', () => {
    const look = (tcp: number, roles: readonly ProcessSample['role'][]): NodeSample => ({
      processes: roles.map((role) => ({
        ...{ role, pid: 1, rssKiB: 1, anonKiB: 1, threads: 2, counts: { descriptors: 8 + tcp, tcp } },
      })),
      sockets: { tcp: 2 * tcp },
    })
    const counts = atRest('r1', [
      look(3, ['engine', 'launcher', 'launcher', 'program']),
      look(2, ['engine', 'launcher']),
    ])
    expect([...counts]).toEqual([
      ['r1 namespace', { tcp: 4 }],
      ['r1 engine', { descriptors: 10, tcp: 2, threads: 2, processes: 1 }],
      ['r1 launcher', { descriptors: 10, tcp: 2, threads: 2, processes: 1 }],
    ])
  })

  test('what the kernel says of descriptors and sockets is read', () => {
    const tcp = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0B004D0A:25B7 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 ffff 100 0 0 10 0',
      '   1: 0B004D0A:25B7 04004D0A:A1B2 06 00000000:00000000 03:00000B2C 00000000     0        0 0 3 ffff',
    ].join('\n')
    expect(inodesOf(`${tcp}\n`, 9)).toEqual(['4711'])
    const sockets = new Map([['4711', 'tcp']])
    const links = [
      'socket:[4711]',
      'socket:[4712]',
      'anon_inode:[eventpoll]',
      'anon_inode:[pidfd]',
      'pipe:[9]',
      '/dev/null',
    ]
    expect(links.map((link) => kindOf(link, sockets))).toEqual([
      ...['tcp', 'other socket', 'eventpoll', 'pidfd', 'pipe', 'file'],
    ])
    expect(socketsOf({ descriptors: 9, tcp: 2, packet: 1, pipe: 4, 'other socket': 1 })).toBe(4)
  })
})

describe('answers', () => {
  const done = (kind: SoakKind, at: number, end = at): Injected<SoakFault> => {
    const fault = { id: 1, at, kind, variant: '', node: 'r1', ms: end - at, overlapping: false } as const
    return { fault, at, end, hit: true }
  }
  const record = (...steps: readonly Step[]): WitnessRecord => {
    return { ...seen(history(...steps)), from: 0, to: 10_000, duplicates: 0 }
  }
  const told = (injected: Injected<SoakFault>, ...steps: readonly Step[]) =>
    judge(soakRules(10), {
      ...{ histories: [record(...steps)], happened: [injected], window: { from: 0, to: 10_000 } },
    }).violations.map(({ question, expected, seen }) => `${question}: ${expected}: ${seen}`)

  test('doubled for longer than a clean leave may is seen, and by a dead engine it is allowed', () => {
    const steps = [
      ['r1', 1_010],
      ['r1 r2', 1_050],
      ['r2', 10_000],
    ] as const
    expect(told(done('stop', 1_000), ...steps)).toEqual(['two: two nodes answering for at most 25 ms: 40.0 ms'])
    expect(told(done('kill engine', 1_000), ...steps)).toEqual([])
  })

  test('no answer for longer than Active_Down_Interval after a cut is seen', () => {
    const cut = done('partition', 1_000, 3_000)
    expect(told(cut, ['r1', 1_001], ['', 1_060], ['r2', 10_000])).toEqual([])
    expect(told(cut, ['r1', 1_001], ['', 1_070], ['r2', 10_000])).toEqual([
      'none: no node answering for at most 61 ms: 69.0 ms',
    ])
  })

  test('one question that is lost by a reload that changes nothing is seen', () => {
    const steps = [
      ['r1', 1_100],
      ['', 1_104],
      ['r1', 10_000],
    ] as const
    expect(told(done('reload, same file', 1_000), ...steps)).toEqual([
      'none: no node answering for at most 0 ms: 4.0 ms',
    ])
    expect(told(done('reload, other priority', 1_000), ...steps)).toEqual([])
  })

  test('a failover after which no other node answers, and a step that met no process, have shown nothing', () => {
    const records = [record(['r1', 10_000])]
    expect(idleSteps([done('yield', 1_000, 3_500)], records, 4_500)).toEqual([
      '#1 yield on r1: expected another node to answer for v within 4500 ms, saw none',
    ])
    expect(idleSteps([done('yield', 1_000)], [record(['r1', 1_020], ['r2', 3_000], ['r1', 10_000])], 4_500)).toEqual([])
    expect(idleSteps([{ ...done('reload, same file', 1_000), hit: false }], records, 4_500)).toHaveLength(1)
    expect(idleSteps([done('reload, same file', 1_000)], records, 4_500)).toEqual([])
  })

  test('a scrape may fail while the node or its cable is away, and at no other time', () => {
    const failed = (node: string, at: number): Scrape => {
      return { node, path: '/metrics', at, ms: 5_000, problem: 'no answer' }
    }
    const well = { ...failed('r1', 500), ms: 7, problem: undefined }
    const cut = [done('partition', 10_000, 12_000)]
    expect(accountOf([well, failed('r1', 10_500)], cut, 0)).toMatchObject({ count: 2, failed: 1, median: 7, wrong: [] })
    expect(accountOf([failed('r2', 10_500), failed('r1', 30_000)], cut, 0).wrong).toEqual([
      'r2 /metrics at 10.5 s: expected an answer, saw no answer',
      'r1 /metrics at 30.0 s: expected an answer, saw no answer',
    ])
    expect(accountOf([failed('r1', 10_500)], [done('yield', 10_000, 12_500)], 0).wrong).toHaveLength(1)
  })
})

describe('what else went on', () => {
  const thefts = [
    { from: 1_000, to: 1_100, ms: 40 },
    { from: 1_100, to: 1_800, ms: 620 },
  ]

  test.each([
    [1_150, 1_160, 620],
    [1_090, 1_110, 660],
    [900, 950, 40],
    [850, 890, 0],
    [1_800, 1_900, 0],
  ])('from %d to %d ms: %d ms stolen', (from, to, ms) => {
    expect(stolenBetween(thefts, from, to)).toBe(ms)
  })

  test('is said beside a violation, and nothing where nothing was', () => {
    const records: WitnessRecord[] = []
    const company = { near: () => 0, stolen: (from: number, to: number) => stolenBetween(thefts, from, to) }
    const said = (from: number, to: number) => circumstancesOf({ address: '10.77.0.100', from, to }, records, company)
    expect(said(1_150, 1_160)).toBe(' (620 ms of the CPUs were stolen then)')
    expect(said(2_000, 2_100)).toBe('')
  })
})
