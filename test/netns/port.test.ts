/**
 * Bad clients of the HTTP port (test/support/http-crowd.mjs) on the node of an Active with an interval of 100 ms. The
 * Backup never has a reason to take over, and the client of the VIP gets its answers. When the bad clients are gone,
 * the port answers again. The memory for such clients is bounded.
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'

const PORT = 9_655
const INTERVAL = 100
/** Clients that the daemon closes after five seconds stay longer than that. */
const MODES = [
  ['connections', 8],
  ['slow', 8],
  ['header', 4],
  ['pipeline', 4],
  ['scrape', 4],
] as const
const CROWD = join(import.meta.dirname, '..', 'support', 'http-crowd.mjs')

type Counts = { readonly opened: number; readonly closed: number; readonly statuses: Readonly<Record<string, number>> }

describeNetns('bad clients of the HTTP port', () => {
  let lab: Lab
  let host: Host
  let active: Holdfast
  let backup: Holdfast

  // The daemon has real-time priority. The test shows whether clients stop the engine, not whether the machine has CPU time for the engine.
  beforeAll(async () => {
    lab = createLab({ routers: 2 })
    host = lab.router(1)
    const plan = { intervalMs: INTERVAL, address: LAB_VIP }
    active = new Holdfast(lab, { ...plan, host, priority: 200 }, {}, ['--realtime'], {
      api: { listen: `127.0.0.1:${PORT}` },
    })
    await active.ready()
    await active.becomes('Active', 10_000)
    backup = new Holdfast(lab, { ...plan, host: lab.router(2), priority: 100 })
    await backup.ready()
    await active.process.line(/Serving \/metrics/, 10_000)
  })
  afterAll(() => lab.destroy())

  const sockets = (pid: number) =>
    readdirSync(`/proc/${pid}/fd`).filter((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')
      } catch {
        return false
      }
    }).length

  async function crowd(mode: string, seconds: number): Promise<{ counts: Counts; gaps: number[]; most: number }> {
    const engine = active.process.children[0] ?? 0
    const before = sockets(engine)
    const capture = await Capture.start(lab, `crowd-${mode}`, 'ip proto 112 and src 10.77.0.11')
    const clients = new LoggedProcess(lab, host, ['node', CROWD, mode, `${PORT}`, `${seconds}`])
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, sockets(engine) - before)
    }, 100)
    await clients.exited
    clearInterval(watch)
    const frames = await capture.stop()
    const counts: Counts = JSON.parse(clients.lines.at(-1)?.text ?? '{}')
    const gaps = frames.slice(1).map((frame, i) => (Number(frame.at) - Number(frames[i]?.at)) * 1e3)
    const longest = Math.max(...gaps).toFixed(0)
    console.log(
      `${mode}: ${JSON.stringify(counts)}, ${most} sockets at most, longest gap ${longest} ms of ${gaps.length}`,
    )
    return { counts, gaps, most }
  }

  /** Returns the number of the engine's timers since its start, and the number of timers that were more than 5 ms late. */
  function timers(): { readonly all: number; readonly late: number } {
    const body = lab.exec(host, ['curl', '-s', '-m', '5', `http://127.0.0.1:${PORT}/metrics`])
    const within = (le: string) =>
      Number(body.split(`holdfast_engine_timer_lateness_seconds_bucket{le="${le}"} `)[1]?.split('\n')[0])
    return { all: within('+Inf'), late: within('+Inf') - within('0.005') }
  }

  test.each(MODES)(
    'that play "%s" for %i s cost the Active no takeover, and the port answers afterwards',
    async (mode, seconds) => {
      const before = timers()
      const { counts, gaps, most } = await crowd(mode, seconds)
      expect(counts.opened, 'connections that the bad clients opened').toBeGreaterThanOrEqual(16)
      expect(gaps.length, 'gaps between advertisements of the Active').toBeGreaterThan((seconds * 1_000) / INTERVAL / 2)
      judgeTime(
        'longest gap between advertisements, ms',
        Math.max(...gaps),
        activeDownIntervalMs(100, INTERVAL),
        'RFC 9568 §6.1',
      )
      expect(await backup.state(), 'state of the Backup after the bad clients').toBe('Backup')
      expect(backup.records.filter(({ msg }) => /→ Active/.test(msg))).toEqual([])
      expect(most, 'largest number of client sockets that the daemon had open together').toBeLessThanOrEqual(40)
      if (mode === 'header')
        expect(counts.closed, 'connections with an endless header that the daemon closed').toBe(counts.opened)
      if (mode === 'pipeline')
        expect(counts.statuses['200'], 'answers with status 200 to pipelined requests').toBeLessThanOrEqual(
          100 * counts.opened,
        )
      if (mode === 'scrape')
        expect(counts.statuses['200'], 'answers with status 200 to scrapes').toBeGreaterThan(seconds)
      if (mode === 'slow') expect(counts.closed, 'slow connections that the daemon closed').toBeGreaterThanOrEqual(32)

      // The daemon closes a late connection after five seconds.
      const answer = await eventually(
        'the port to answer again',
        () => {
          const found = lab.exec(host, ['sh', '-c', `curl -s -m 2 http://127.0.0.1:${PORT}/metrics || true`])
          return /^holdfast_port_connections_refused_total (\d+)$/m.exec(found)?.[1]
        },
        { sight: () => active.lines.slice(-3), within: 10_000, every: 200 },
      )
      const after = timers()
      // The printed figures are for docs/privileges.md. The test judges the gaps only, because the machine may be busy
      // with other work.
      console.log(`${mode}: ${after.late - before.late} of ${after.all - before.all} timers more than 5 ms late`)
      if (mode === 'connections' || mode === 'slow')
        expect(Number(answer), 'connections that the port has refused').toBeGreaterThan(100)
    },
  )

  test('get status 431 for a header of more than 8 KiB', () => {
    const answer = (octets: number) =>
      lab.exec(host, [
        'curl',
        '-s',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        '-H',
        `X-Long: ${'a'.repeat(octets)}`,
        `http://127.0.0.1:${PORT}/healthz`,
      ])
    expect([answer(7_000), answer(9_000)]).toEqual(['200', '431'])
  })

  test('cannot order a stop, a reload or a yield at the port', () => {
    const order = (path: string, method = 'POST') =>
      lab.exec(host, [
        'curl',
        '-s',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        '-X',
        method,
        `http://127.0.0.1:${PORT}${path}`,
      ])
    for (const path of ['/v1/stop', '/v1/reload', '/v1/yield', '/v1/status']) expect(order(path), path).toBe('405')
    for (const path of ['/v1/stop', '/v1/reload', '/v1/yield']) expect(order(path, 'GET'), path).toBe('404')
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) expect(order('/v1/status', method), method).toBe('405')
  })
})
