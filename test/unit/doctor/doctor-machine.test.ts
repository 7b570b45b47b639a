/**
 * Every judgement about a machine and its timers appears when its cause is there, and not otherwise (docs/doctor.md).
 */
import { describe, expect, test } from 'vitest'
import { diagnose } from '../../../src/doctor/diagnosis.ts'
import { CHECKS, countOf, worst } from '../../../src/doctor/finding.ts'
import { SAFETY, smallestInterval, spreadOf } from '../../../src/doctor/interval.ts'
import { recommend } from '../../../src/doctor/judge-timers.ts'
import { doctorReport, formatReport } from '../../../src/doctor/report.ts'
import { centis } from '../../../src/wire/units.ts'
import { complaints, type MACHINE, MEASURED, measuredWith, timerRun, told } from './doctor-fixture.ts'

test('a healthy machine has no findings, and every line is ok', () => {
  expect(complaints(MEASURED)).toEqual([])
  expect(worst(diagnose(MEASURED))).toBe('ok')
})

describe('the smallest safe interval', () => {
  test.each([
    [0, 1],
    [2.5, 1],
    [2.51, 2],
    [14, 6],
    [100, 40],
    [10_237.5, 4_095],
  ])('worst lateness %s ms: %s centiseconds', (worstMs, wanted) => {
    expect(smallestInterval(worstMs)).toBe(centis(wanted))
  })

  test('no interval is recommended above the limit of the protocol, and version 2 uses seconds', () => {
    expect(smallestInterval(10_238)).toBeUndefined()
    expect([0.5, 250, 251].map((worstMs) => smallestInterval(worstMs, 2))).toEqual([100, 100, 200].map(centis))
    expect(smallestInterval(70_000, 2)).toBeUndefined()
  })

  test('the interval tolerates one lost advertisement and the worst lateness, with reserve', () => {
    // RFC 9568 §6.1 without Skew_Time, which is next to nothing at priority 254: 3 intervals, of which two pass.
    for (const worstMs of [1, 7, 33, 250]) {
      const interval = (smallestInterval(worstMs) ?? 0) * 10
      expect(3 * interval - (2 * interval + worstMs)).toBeGreaterThanOrEqual((SAFETY - 1) * worstMs)
      // The guardian after a demotion (docs/architecture.md): 1.5 intervals, of which one passes.
      expect(1.5 * interval - (interval + worstMs)).toBeGreaterThanOrEqual(worstMs)
    }
  })

  test('percentiles use the nearest rank and are 0 without samples', () => {
    expect(spreadOf(Array.from({ length: 100 }, (_, i) => 100 - i))).toEqual({
      samples: 100,
      p50: 50,
      p99: 99,
      max: 100,
    })
    expect(spreadOf([])).toEqual({ samples: 0, p50: 0, p99: 0, max: 0 })
  })

  test('results are given with and without --realtime, and refused --realtime is not reported as measured', () => {
    const timers = { ordinary: timerRun(20), realtime: timerRun(2, 'SCHED_RR') }
    expect(recommend(timers)).toMatchObject({ ordinary: { intervalMs: 80 }, realtime: { intervalMs: 10 } })
    expect(recommend({ ...timers, realtime: timerRun(2) }).realtime).toBeNull()
    expect(recommend({ ...timers, ordinary: { unmeasured: 'no guardian' } }).ordinary).toBeNull()
  })
})

describe('timers and the configured interval', () => {
  const at = (intervalMs: number, ordinary: number, realtime: number) =>
    complaints(
      measuredWith({
        router: { intervalMs },
        timers: { ordinary: timerRun(ordinary), realtime: timerRun(realtime, 'SCHED_RR') },
      }),
      'interval',
    )

  test('a safe interval has no finding', () => expect(at(100, 25, 25)).toEqual([]))

  test('an interval that needs --realtime is reported unless the daemon runs with it', () => {
    expect(at(20, 8, 2)).toEqual([
      'warning interval (api): 20 ms is safe with --realtime only (worst lateness 2.00 ms, without it 8.00 ms) -> Start the daemon with --realtime',
    ])
    const processes = [{ pid: 7, name: 'holdfast', vrrp: true, policy: 'SCHED_RR' }]
    const runs = measuredWith({
      router: { intervalMs: 20 },
      timers: { ordinary: timerRun(8), realtime: timerRun(2, 'SCHED_RR') },
      machine: { processes },
    })
    expect(complaints(runs, 'interval')).toEqual([])
  })

  test('a short interval is a warning, and a timer that is one interval late is an error', () => {
    expect(at(20, 8, 8)).toEqual([
      expect.stringMatching(/^warning .*20 ms is 2\.5 x the worst lateness .*Set advertisementInterval to 40 ms/),
    ])
    expect(at(20, 30, 25)).toEqual([
      expect.stringMatching(
        /^error .*a Backup takes over from a healthy Active -> Set advertisementInterval to 100 ms/,
      ),
    ])
  })

  test('without a configuration the default interval of 1 s is assumed', () => {
    const slow = { ordinary: timerRun(300), realtime: timerRun(300, 'SCHED_RR') }
    const bare = { ...measuredWith({ timers: slow }), routers: [], lans: [] }
    expect(complaints(bare, 'interval')).toHaveLength(2)
    expect(complaints({ ...bare, timers: { ...slow, realtime: timerRun(3, 'SCHED_RR') } }, 'interval')).toEqual([])
  })

  test('a missing timer is an error, and an unmeasured one a warning', () => {
    const none = { ...timerRun(1), lateness: [] }
    expect(complaints(measuredWith({ timers: { ordinary: none } }), 'timers')).toEqual([
      expect.stringMatching(/^error .*no timer fired/),
    ])
    expect(complaints(measuredWith({ timers: { ordinary: { unmeasured: 'why' } } }), 'timers')).toEqual([
      'warning timers (without --realtime): not measured: why',
    ])
  })

  test('lateness above the stagger of equal routers is a note if there are several peers', () => {
    const late = { ...timerRun(1, 'SCHED_RR'), lateness: Array.from({ length: 500 }, () => 4) }
    const [peer] = MEASURED.routers[0]?.peers ?? []
    if (peer === undefined) throw new Error('the fixture has a peer')
    const changes = { timers: { realtime: late }, router: { peers: [peer, peer] } }
    expect(complaints(measuredWith(changes), 'timers')).toEqual([expect.stringMatching(/^note .*only 3 ms separate/)])
    expect(complaints(measuredWith({ ...changes, router: {} }), 'timers')).toEqual([])
  })

  test('--realtime that is refused, or was not tried, is a note', () => {
    const refused = measuredWith({ timers: { realtime: timerRun(2) }, machine: { mayRealtime: false } })
    expect(complaints(refused, 'realtime')).toEqual([
      expect.stringMatching(/^note .*gets SCHED_OTHER: CAP_SYS_NICE is missing/),
    ])
    const untried = measuredWith({ timers: { realtime: { unmeasured: 'no guardian' } } })
    expect(complaints(untried, 'realtime')).toEqual(['note realtime: not tried: no guardian'])
  })

  test('advice against lateness names a CPU limit, a hypervisor or a capability', () => {
    const advice = (machine: Partial<typeof MACHINE>) =>
      diagnose(measuredWith({ timers: { ordinary: timerRun(50), realtime: timerRun(50) }, machine }))
        .filter(({ about, check }) => check === 'interval' && about === 'without --realtime')
        .map((finding) => finding.advice)
    expect(advice({ throttled: 3 })).toEqual([expect.stringContaining('CPU limit')])
    expect(advice({ stolenShare: 0.2 })).toEqual([expect.stringContaining('hypervisor')])
    expect(advice({ mayRealtime: false })).toEqual([expect.stringContaining('CAP_SYS_NICE')])
    expect(advice({})).toEqual([expect.stringContaining('Less load')])
  })
})

describe('clocks', () => {
  const withOffsets = (offsets: readonly number[]) =>
    complaints(measuredWith({ timers: { ordinary: { ...timerRun(1), offsets } } }), 'clock')

  test('a clock slewed by NTP has no finding, and a stepped one names number, size and direction', () => {
    expect(withOffsets(Array.from({ length: 500 }, (_, i) => i * 0.005))).toEqual([])
    expect(withOffsets([0, 0, -250, -250])).toEqual([expect.stringMatching(/^warning .*stepped once, by 250 ms back/)])
    expect(withOffsets([0, 2, 2, 9])).toEqual([expect.stringMatching(/stepped 2 times, by 7\.00 ms forward at most/)])
  })
})

describe('the machine', () => {
  const says = (machine: Partial<typeof MACHINE>) => complaints(measuredWith({ machine }))

  test.each([
    [
      'a capability',
      { missingCapabilities: ['CAP_NET_RAW'] },
      [/^error capabilities: user 0 of this command lacks CAP_NET_RAW, so /],
    ],
    [
      'a capability of the daemon',
      { daemon: 7, missingCapabilities: ['CAP_NET_RAW'] },
      [/^error capabilities: the running daemon \(pid 7\) lacks CAP_NET_RAW/],
    ],
    [
      'both',
      { missingCapabilities: ['CAP_NET_ADMIN', 'CAP_NET_RAW'] },
      [
        /^error capabilities: .* lacks CAP_NET_ADMIN and CAP_NET_RAW, so /,
        /^warning receive-buffer: .*about 256 advert/,
      ],
    ],
    ['a guardian without a filter', { guardianConfined: false }, [/^note seccomp: .*no filter of its own/]],
    ['a daemon without a clock', { lease: 'The engine sends each advertisement' }, [/^note lease: The engine sends/]],
    ['a feature of the kernel', { missingFeatures: ['pidfd_open(2)'] }, [/^error kernel: .*missing pidfd_open/]],
    ['a slow clock source', { clockSource: 'acpi_pm' }, [/^note kernel: .*slow or coarse/]],
    ['a CPU limit', { throttled: 2 }, [/^warning processor: .*stopped its processes 2 times/]],
    ['a hypervisor, some', { stolenShare: 0.05 }, [/^note processor: .*5\.0 %/]],
    ['a hypervisor, much', { stolenShare: 0.3 }, [/^warning processor: .*30\.0 %/]],
    ['others that wait for a processor', { pressureMs: 3_000 }, [/^note processor: for 60 %/]],
    ['a time namespace', { monotonicOffset: 5e9 }, [/^note time-namespace: .*shifted by 5\.000 s/]],
    [
      'a time namespace for children only',
      { timeNamespaceChanges: true },
      [/^error time-namespace: .*would have different CLOCK_MONOTONIC/],
    ],
    ['sockets of others', { unseenVrrpSockets: 2 }, [/^note processes: 2 sockets/]],
    ['FRR', { processes: [{ pid: 9, name: 'vrrpd', vrrp: true }] }, [/^warning processes: vrrpd \(pid 9\)/]],
    [
      'keepalived',
      { processes: [{ pid: 9, name: 'keepalived', vrrp: true }] },
      [/^note processes: .*refuses to start beside it/],
    ],
    [
      'keepalived beside holdfast',
      {
        processes: [
          { pid: 9, name: 'keepalived_vrrp', vrrp: true },
          { pid: 10, name: 'holdfast', vrrp: true },
        ],
      },
      [/^error processes: keepalived_vrrp \(pid 9\) .*remove those of the other/],
    ],
    ['kube-vip', { processes: [{ pid: 9, name: 'kube-vip', vrrp: false }] }, [/^warning processes: kube-vip/]],
    [
      'Calico',
      { processes: [{ pid: 9, name: 'calico-node', vrrp: false }] },
      [/^note processes: calico-node .*IP_AUTODETECTION_METHOD/],
    ],
  ] satisfies [string, Partial<typeof MACHINE>, RegExp[]][])('%s', (_, machine, wanted) => {
    expect(says(machine)).toEqual(wanted.map((pattern) => expect.stringMatching(pattern)))
  })

  test('a sufficient rmem_max has no finding without CAP_NET_ADMIN', () => {
    const enough = { missingCapabilities: ['CAP_NET_ADMIN'], receiveBufferLimit: 4 * 1024 * 1024 }
    expect(complaints(measuredWith({ machine: enough }), 'receive-buffer')).toEqual([])
  })

  test('holdfast itself and the forwarding setting have no finding', () => {
    expect(
      says({ processes: [{ pid: 9, name: 'holdfast', vrrp: true, policy: 'SCHED_RR' }], ipForward: true }),
    ).toEqual([])
    const said = diagnose(measuredWith({ machine: { ipForward: true } })).map(told)
    expect(said.join('\n')).toContain('forwards late packets to the new holder')
  })
})

test('the report has a line for each finding, advice and counts, and the JSON has the same content', () => {
  const measured = measuredWith({ machine: { throttled: 2 } })
  const findings = diagnose(measured)
  const report = doctorReport(measured, findings, {
    version: '1.2.3',
    host: 'node1',
    takenAt: '2026-01-01T00:00:00.000Z',
  })
  expect(report).toMatchObject({
    version: 1,
    holdfast: '1.2.3',
    host: 'node1',
    worst: 'warning',
    count: { warning: 1, error: 0 },
  })
  expect(countOf(findings)).toEqual(report.count)
  const text = formatReport(report)
  expect(text).toContain('\nwarning  processor: the CPU limit')
  expect(text).toContain('\n           -> Set no CPU limit')
  expect(text).toContain(
    'smallest safe advertisement interval on this machine: 10 ms without --realtime, 10 ms with it',
  )
  expect(text).toMatch(/\n0 errors, 1 warning, 0 notes, \d+ ok \(-v shows them\)\n$/)
  expect(text, 'a problem is not among lines that are ok').not.toMatch(/^ok /m)
  const verbose = formatReport(report, true).split('\n')
  expect(verbose.findIndex((line) => line.startsWith('warning '))).toBeLessThan(
    verbose.findIndex((line) => line.startsWith('ok ')),
  )
  expect(verbose.at(-2)).toMatch(/^0 errors, 1 warning, 0 notes, \d+ ok$/)
  // Samples are summed up.
  expect(JSON.stringify(report.measured)).not.toContain('"lateness":')
  expect(findings.every(({ check }) => CHECKS.includes(check))).toBe(true)
})
