import { readdirSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CheckSpec } from '../../../src/healthcheck/check.ts'
import type { CheckReport } from '../../../src/healthcheck/check-report.ts'
import { CheckRunner } from '../../../src/healthcheck/check-runner.ts'
import { Monitor } from '../../../src/healthcheck/monitor.ts'
import { monotonicNow } from '../../../src/healthcheck/probe.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { millis } from '../../../src/wire/units.ts'
import { checkSpec, httpSpec, tcpSpec } from '../../support/check-spec.ts'
import { closeServersAfterEach, type LoopbackServer, serveHttp, serveTcp } from '../../support/loopback-server.ts'
import { probePorts } from '../../support/probe-ports.ts'

closeServersAfterEach()

let changes: (CheckReport & { readonly heardAt: number })[] = []
let monitor: Monitor

beforeEach(() => {
  changes = []
  monitor = new Monitor(
    { healthChanged: (report) => changes.push({ ...report, heardAt: monotonicNow() }) },
    probePorts,
    () => 0.5,
  )
})
afterEach(() => monitor.stop())

const results = () => changes.map(({ check, result }) => `${check} ${result}`)
const heard = (line: string, within = 10_000) =>
  eventually(line, () => results().includes(line), { sight: results, within, every: 1 })
const reportOf = (name: string) => monitor.reports().find(({ check }) => check === name)
const watched = (name: string) =>
  eventually(`${name} watched`, () => reportOf(name)?.watched, { sight: () => reportOf(name), within: 3_000 })
const ok = (): Promise<LoopbackServer> => serveHttp((_request, response) => response.end())
const at = (server: LoopbackServer) => httpSpec(`http://127.0.0.1:${server.port}/`)

describe('a monitored check', () => {
  test('runs first immediately, and reports its result with reason, latency and time', async () => {
    const before = monotonicNow()
    void monitor.configure([checkSpec(at(await ok()))])
    await heard('check up')
    const [change] = changes
    expect(change).toMatchObject({ countsAs: 'up', last: { ok: true, reason: 'ok', detail: '200' }, runs: 1 })
    expect(change?.since).toBeGreaterThanOrEqual(before)
    expect(change?.last?.latency).toBeGreaterThan(0)
  })

  test('reports the output of a program as one short line', async () => {
    const argv = ['/bin/sh', '-c', 'printf "\\033[2Jone\\ntwo "; head -c 2000 /dev/zero | tr "\\0" x; exit 1'] as const
    void monitor.configure([checkSpec({ kind: 'exec', argv: [...argv], environment: {}, user: undefined })])
    await heard('check down')
    const { detail = '' } = changes[0]?.last ?? {}
    expect(detail).toContain(' [2Jone two xxx')
    expect(detail.length).toBeLessThanOrEqual(500)
  })

  test.skipIf(process.getuid?.() !== 0)(
    'gets another launcher if "capabilities" changes, and the next run has the new ones',
    async () => {
      const argv = ['/usr/sbin/chroot', '/', '/bin/true'] as const
      const spec = (capabilities?: 'keep') =>
        checkSpec({ kind: 'exec', argv: [...argv], environment: {}, user: undefined, capabilities })
      void monitor.configure([spec()])
      await heard('check down')
      void monitor.configure([spec('keep')])
      await heard('check up')
      changes.length = 0
      void monitor.configure([spec()])
      await heard('check down')
    },
  )

  test('runs at every interval, and skips the slots that a run takes', async () => {
    const server = await serveHttp((_request, response) => setTimeout(() => response.end(), 120))
    const spec = checkSpec(
      { ...at(server), body: { kind: 'contains', text: '' }, events: false },
      { interval: millis(50) },
    )
    void monitor.configure([spec])
    await eventually('four runs', () => (reportOf('check')?.runs ?? 0) >= 4, {
      sight: () => reportOf('check'),
      within: 5_000,
    })
    const { runs = 0, skipped = 0 } = reportOf('check') ?? {}
    expect(server.accepted() - runs, 'connections beside the runs that ended').toBeLessThanOrEqual(1)
    expect(skipped, 'slots skipped').toBeGreaterThanOrEqual(2 * (runs - 1))
  })

  test('reaches fall at fastInterval, not at interval', async () => {
    const server = await serveHttp((_request, response) => response.writeHead(answers).end())
    let answers = 200
    void monitor.configure([checkSpec({ ...at(server), events: false }, { interval: millis(2_000), fall: 3 })])
    await heard('check up')
    answers = 500
    await heard('check down')
    const down = changes.at(-1)
    expect(down?.last).toMatchObject({ ok: false, reason: 'status' })
    // An interval passes until the failure is noticed, and two fast intervals until the failure is certain. Without
    // fast intervals, three intervals would take 6 s.
    expect((down?.since ?? 0) - (changes[0]?.since ?? 0), 'ms from up to down').toBeLessThan(4_500)
    expect(down?.runs).toBe(4)
  })

  test('fails after interval and timeout if the server hangs', async () => {
    let hangs = false
    const server = await serveHttp((_request, response) => hangs || response.end())
    const spec = checkSpec(at(server), { interval: millis(200), timeout: millis(300), fall: 1 })
    void monitor.configure([spec])
    await heard('check up')
    hangs = true
    const hungAt = monotonicNow()
    await heard('check down')
    expect(changes.at(-1)?.last?.reason).toBe('timeout')
    expect((changes.at(-1)?.heardAt ?? 0) - hungAt, 'ms from hanging to down').toBeLessThan(5_000)
  })

  test('is unknown after unknownAfter without a result', async () => {
    const server = await ok()
    const caFile = '/nonexistent/ca.pem'
    const spec = checkSpec(at(server), { interval: millis(50), unknownAfter: millis(300) })
    void monitor.configure([spec])
    await heard('check up')
    const tls = { verify: true, caFile, serverName: undefined }
    const broken = { ...at(server), url: `https://127.0.0.1:${server.port}/`, tls }
    void monitor.configure([{ ...spec, probe: broken }])
    await heard('check unknown')
    expect(changes.at(-1)).toMatchObject({ countsAs: 'up', last: { reason: 'unreadable' } })
  })
})

describe('an event of a checked service', () => {
  test.each(['fin', 'rst'] as const)('reports the end of a process by %s long before the next poll', async (how) => {
    const server = await ok()
    void monitor.configure([checkSpec(at(server), { interval: millis(60_000) })])
    await watched('check')
    const killedAt = monotonicNow()
    await server.stop(how)
    await heard('check down')
    const { heardAt = 0, last } = changes.at(-1) ?? {}
    expect(last?.reason).toBe('connectionRefused')
    expect(heardAt - killedAt, 'ms from its end to the change, an interval of a minute').toBeLessThan(5_000)
  })

  test('changes nothing if the service still answers', async () => {
    const server = await ok()
    void monitor.configure([checkSpec(at(server), { interval: millis(60_000) })])
    await watched('check')
    for (const socket of server.open()) socket.destroy()
    await eventually('a second run', () => (reportOf('check')?.runs ?? 0) >= 2, {
      sight: () => reportOf('check'),
      within: 2_000,
    })
    expect(results()).toEqual(['check up'])
  })

  test('changes nothing if the target is back within (fall − 1) × fastInterval', async () => {
    const first = await ok()
    void monitor.configure([checkSpec(at(first), { interval: millis(60_000), fastInterval: millis(200), fall: 4 })])
    await watched('check')
    await first.stop()
    await sleep(100)
    await serveHttp((_request, response) => response.end(), { port: first.port, host: '127.0.0.1' })
    await eventually(
      'runs that decide',
      () => reportOf('check')?.last?.ok === true && (reportOf('check')?.runs ?? 0) > 2,
      { sight: () => reportOf('check'), within: 3_000 },
    )
    expect(results()).toEqual(['check up'])
  })

  test('does not block a server for long that accepts one connection at a time', async () => {
    // The server acts like a simple HTTP server without threads: it accepts a connection after the one before has ended.
    let busy: Socket | undefined
    const waiting: Socket[] = []
    const serve = (socket: Socket) => {
      busy = socket
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
      socket.once('close', () => {
        busy = undefined
        const next = waiting.shift()
        if (next !== undefined) serve(next)
      })
      socket.resume()
    }
    const server = await serveTcp((socket) => {
      socket.pause()
      if (busy === undefined) serve(socket)
      else waiting.push(socket)
    })
    const spec = checkSpec(httpSpec(`http://127.0.0.1:${server.port}/`), {
      interval: millis(100),
      timeout: millis(150),
      fall: 3,
    })
    void monitor.configure([spec])
    await watched('check')
    await eventually('ten runs', () => (reportOf('check')?.runs ?? 0) >= 10, {
      sight: () => reportOf('check'),
      within: 5_000,
    })
    expect(results()).toEqual(['check up'])
    expect(reportOf('check')).toMatchObject({ watched: false, last: { ok: true } })
  })
})

describe('the list of checks', () => {
  const spec = (server: LoopbackServer, name: string, changed: Parameters<typeof checkSpec>[1] = {}): CheckSpec =>
    checkSpec(tcpSpec(server.port), { name, interval: millis(60_000), ...changed })

  test('does not touch an unchanged check, continues a changed check, and closes a removed check', async () => {
    const server = await serveTcp()
    void monitor.configure([spec(server, 'a'), spec(server, 'b'), spec(server, 'c')])
    for (const name of ['a', 'b', 'c']) await watched(name)
    const { since } = reportOf('b') ?? {}
    await monitor.configure([spec(server, 'a'), spec(server, 'b', { fall: 2 })])
    await watched('b')
    expect(reportOf('a')?.runs).toBe(1)
    expect(reportOf('b')).toMatchObject({ result: 'up', since })
    expect(monitor.reports().map(({ check }) => check)).toEqual(['a', 'b'])
    expect(results().toSorted(), 'b twice: its first result since it was changed').toEqual([
      'a up',
      'b up',
      'b up',
      'c up',
    ])
    await eventually('two idle connections', () => server.open().length === 2, {
      sight: () => server.open().length,
      within: 1_000,
    })
  })

  test('keeps the result of a check with a new target until its first run, which then decides alone', async () => {
    const [one, other] = [await serveTcp(), await serveTcp()]
    const rule = { fall: 3, rise: 3, fastInterval: millis(5_000) }
    void monitor.configure([spec(one, 'a', rule)])
    await heard('a up')
    await other.stop()
    changes = []
    void monitor.configure([spec(other, 'a', rule)])
    expect(reportOf('a')?.result, 'before its first result').toBe('up')
    await heard('a down')
    expect(
      changes.map(({ runs }) => runs),
      'the first run of three',
    ).toEqual([1])
    void monitor.configure([spec(one, 'a', rule)])
    await heard('a up')
  })

  test('keeps the former result of an unknown check also when the check changes', async () => {
    const unknowable: CheckSpec['probe'] = { ...httpSpec('http://127.0.0.1:1/'), url: 'no URL' }
    const former = { result: 'up', since: millis(5), weight: undefined } as const
    const rule = { unknownAfter: millis(100), interval: millis(50) }
    void monitor.configure([checkSpec(unknowable, rule)], new Map([['check', former]]))
    await heard('check unknown')
    await monitor.configure([checkSpec(unknowable, { ...rule, interval: millis(40) })])
    await eventually(
      'unknown again',
      () => (reportOf('check')?.runs ?? 0) > 0 && reportOf('check')?.result === 'unknown',
      { sight: () => reportOf('check'), within: 2_000 },
    )
    expect(reportOf('check')).toMatchObject({ result: 'unknown', countsAs: 'up' })
  })

  test('after a restart reports the first result immediately, also if it equals the former result', async () => {
    const former = { result: 'up', since: millis(5), weight: undefined } as const
    void monitor.configure([spec(await serveTcp(), 'a')], new Map([['a', former]]))
    await heard('a up')
    expect(changes[0]).toMatchObject({ result: 'up', since: 5, runs: 1 })
  })

  test('after a restart continues the former result: one failure of three changes nothing', async () => {
    const server = await serveTcp()
    await server.stop()
    const former = { result: 'up', since: millis(5), weight: undefined } as const
    const check = spec(server, 'a', { fall: 3, fastInterval: millis(300) })
    void monitor.configure([check], new Map([['a', former]]))
    await eventually('a run', () => (reportOf('a')?.runs ?? 0) === 1, { sight: () => reportOf('a'), within: 2_000 })
    expect(reportOf('a')).toMatchObject({ result: 'up', since: 5 })
    await heard('a down')
    expect(changes.at(-1)?.runs).toBe(3)
  })
})

describe('the repeated checks before a takeover', () => {
  test('run all, and a failure counts as if fall were reached', async () => {
    const good = await serveTcp()
    const bad = await serveTcp()
    const base = { interval: millis(60_000), fall: 5 }
    const specs = [
      checkSpec(tcpSpec(good.port), { ...base, name: 'good' }),
      checkSpec(tcpSpec(bad.port, { events: false }), { ...base, name: 'bad' }),
    ]
    void monitor.configure(specs)
    await heard('good up')
    await heard('bad up')
    await bad.stop()
    const reports = await monitor.askOnceMore({ up: ['good', 'bad', 'nothing of that name'], down: [] }, millis(2_000))
    expect(reports.map(({ check, result }) => `${check} ${result}`).toSorted()).toEqual(['bad down', 'good up'])
  })

  test('count a first success as if rise were reached, for a check that raises the priority while it is down', async () => {
    const gone = await serveTcp()
    await gone.stop()
    const { port } = gone
    void monitor.configure([checkSpec(tcpSpec(port, { events: false }), { interval: millis(60_000), rise: 5 })])
    await heard('check down')
    await serveTcp(undefined, port)
    expect(await monitor.askOnceMore({ up: ['check'], down: [] }, millis(2_000))).toMatchObject([{ result: 'down' }])
    expect(await monitor.askOnceMore({ up: [], down: ['check'] }, millis(2_000))).toMatchObject([{ result: 'up' }])
  })

  test('do not count a run that began before the request, and leave out late results', async () => {
    let slow = true
    const server = await serveHttp((_request, response) =>
      slow ? setTimeout(() => response.end(), 150) : response.end(),
    )
    void monitor.configure([checkSpec(at(server), { interval: millis(60_000) })])
    await eventually('a request', () => server.accepted() === 1, { sight: server.accepted, within: 1_000 })
    const [report] = await monitor.askOnceMore({ up: ['check'], down: [] }, millis(2_000))
    expect(report?.runs).toBe(2)
    slow = true
    expect(await monitor.askOnceMore({ up: ['check'], down: [] }, millis(50))).toEqual([])
  })
})

describe('a check run that never ends', () => {
  test('collects no requests, and a request without an answer in time stops waiting', () => {
    const endless = new Promise<never>(() => {})
    const probe = { start: () => ({ result: endless, ended: endless }), events: undefined }
    const options = { former: undefined, onChange: () => {}, random: () => 0 }
    const runner = new CheckRunner(checkSpec(tcpSpec(1)), probe, options)
    const withdraw = Array.from({ length: 50 }, () => runner.askOnceMore('up', () => {}))
    expect(runner.asking).toBe(50)
    for (const each of withdraw) each()
    expect(runner.asking).toBe(0)
  })
})

describe('the stop of the monitor', () => {
  /** Returns what each descriptor leads to; libuv keeps one inotify instance for each thread that had one. */
  const descriptors = () =>
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        const target = readlinkSync(`/proc/self/fd/${fd}`)
        return target === 'anon_inode:inotify' ? [] : [target]
      } catch {
        return []
      }
    })

  test('leaves no socket, whatever run was under way', async () => {
    const hanging = await serveTcp((socket) => socket.resume())
    const idle = await serveTcp()
    const before = descriptors()
    const specs = [
      checkSpec(httpSpec(`http://127.0.0.1:${hanging.port}/`), { name: 'hangs', timeout: millis(60_000) }),
      checkSpec(tcpSpec(idle.port), { name: 'idle' }),
      checkSpec({ kind: 'file', path: '/tmp/hf-nothing', content: 'present' }, { name: 'file' }),
      checkSpec({ kind: 'exec', argv: ['/bin/sleep', '68'], environment: {}, user: undefined }, { name: 'exec' }),
    ]
    void monitor.configure(specs)
    await watched('idle')
    await watched('file')
    await eventually('a request', () => hanging.open().length > 0, {
      sight: () => hanging.open().length,
      within: 5_000,
    })
    const stoppedAt = monotonicNow()
    await monitor.stop()
    expect(monotonicNow() - stoppedAt, 'ms that stop() took').toBeLessThan(5_000)
    await eventually('no connection', () => hanging.open().length + idle.open().length === 0, {
      sight: () => hanging.open().length,
      within: 1_000,
    })
    await eventually(`${before.length} descriptors`, () => descriptors().length <= before.length, {
      sight: descriptors,
      within: 1_000,
    })
    expect(monitor.reports()).toEqual([])
  })

  test('leaves no descriptor after checks that fail at a high rate', async () => {
    const gone = await serveTcp()
    await gone.stop()
    const probes = [
      tcpSpec(gone.port),
      httpSpec(`http://127.0.0.1:${gone.port}/`),
      { kind: 'file', path: '/nonexistent/hf', content: 'present' },
      { kind: 'process', name: 'hf-nobody', count: 1 },
    ] as const
    const specs = probes.map((probe, i) =>
      checkSpec(probe, { name: `c${i}`, interval: millis(10), timeout: millis(50) }),
    )
    void monitor.configure(specs)
    await eventually('twenty runs each', () => monitor.reports().every(({ runs }) => runs >= 20), {
      sight: () => monitor.reports().map(({ runs }) => runs),
      within: 40_000,
    })
    const early = descriptors().length
    await eventually('eighty runs each', () => monitor.reports().every(({ runs }) => runs >= 80), {
      sight: () => monitor.reports().map(({ runs }) => runs),
      within: 40_000,
    })
    expect(
      descriptors().length - early,
      'growth of the number of descriptors after at least 60 failures of each check',
    ).toBeLessThanOrEqual(8)
    expect(results().length, 'reported changes, one for each check').toBe(4)
  }, 120_000)
})
