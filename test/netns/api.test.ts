/**
 * The HTTP API of real daemons. The API reports an engine that is stuck, stopped or dead, and never answers with old values. The histograms
 * and the events of the new Active show a failover while a client reads the events.
 */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask } from '../../src/files/control-client.ts'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { judgeTime } from '../judge/time.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'

const URL = 'http://127.0.0.1:9655'
const WITHIN = 10_000
const BLOCKED = 4_000

function newLab(routers: number): Lab {
  const lab = labOfTest({ routers })
  return lab
}

function start(
  where: Lab,
  position: number,
  intervalMs: number,
  launcher: readonly string[] = [],
  api: Readonly<Record<string, unknown>> = { listen: '127.0.0.1:9655' },
): Holdfast {
  const plan = { host: where.router(position), priority: 250 - 50 * position, intervalMs, address: LAB_VIP }
  return new Holdfast(where, plan, {}, [], { api }, launcher)
}

const reaches = (daemon: Holdfast, state: string) =>
  eventually(`${daemon.plan.host.name} to be ${state}`, async () => (await daemon.state()) === state, {
    sight: () => daemon.lines.slice(-3),
  })

/** Returns curl's exit status (7: refused, 28: no answer in time), the HTTP status, and the body. */
function get(where: Lab, host: Host, path: string) {
  const script = `curl -s -m 3 -w '\\n%{http_code}' ${URL}${path}; printf '\\n%s' $?`
  const lines = where.exec(host, ['bash', '-c', script]).trimEnd().split('\n')
  const exit = Number(lines.pop())
  const status = Number(lines.pop())
  return { exit, status, body: lines.join('\n').trimEnd() }
}

const serves = (where: Lab, daemon: Holdfast) =>
  eventually(
    `${daemon.plan.host.name} to answer /healthz`,
    () => get(where, daemon.plan.host, '/healthz').status === 200,
    { sight: () => daemon.lines.slice(-3), every: 50 },
  )

/** Returns the metrics of a host: each value by the name of its series with the labels. */
function metrics(where: Lab, host: Host): Map<string, number> {
  const { body, status } = get(where, host, '/metrics')
  expect(status, body).toBe(200)
  const samples = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  )
}

describeNetns('the HTTP API', () => {
  test('every path answers 503 while the engine is stuck, and the metrics later show the late timers', async () => {
    const where = newLab(1)
    const orders = join(where.directory, 'orders')
    writeFileSync(orders, `block ${BLOCKED}`)
    const preload = join(packageRoot(), 'test', 'support', 'misbehaving-engine.mjs')
    const daemon = start(where, 1, 100, ['env', `NODE_OPTIONS=--import=${preload}`, `MISBEHAVIOUR=${orders}`])
    const { host } = daemon.plan
    await reaches(daemon, 'Active')
    await serves(where, daemon)
    const [engine] = daemon.process.children
    if (engine === undefined) throw new Error('no engine')
    process.kill(engine, 'SIGWINCH')
    await daemon.process.line(/"deed":"block"/, WITHIN)
    for (const path of ['/healthz', '/metrics']) {
      const silent = { exit: 0, status: 503, body: 'The engine has not answered for 1000 ms' }
      expect(get(where, host, path), path).toEqual(silent)
    }
    await daemon.process.line(/"ended"/, WITHIN)
    await serves(where, daemon)
    const after = metrics(where, host)
    const late = (le: string) => after.get(`holdfast_engine_timer_lateness_seconds_bucket{le="${le}"}`)
    expect((late('+Inf') ?? 0) - (late('1') ?? 0), 'timers that were more than 1 s late').toBeGreaterThanOrEqual(1)
    expect(
      after.get('holdfast_vrrp_cleanup_plans_executed_total{router="vip"}'),
      'cleanup plans of r1 that its guardian has executed',
    ).toBe(1)
  })

  test('a worker thread that hangs is replaced within seconds, and no Backup takes over', async () => {
    const where = newLab(2)
    const file = join(where.directory, 'hang')
    const preload = join(packageRoot(), 'test', 'support', 'hanging-port.mjs')
    const daemon = start(where, 1, 100, ['env', `NODE_OPTIONS=--import=${preload}`, `HANG=${file}`])
    const { host } = daemon.plan
    await reaches(daemon, 'Active')
    const backup = start(where, 2, 100, [], { listen: false })
    await reaches(backup, 'Backup')
    await serves(where, daemon)
    const capture = await Capture.start(where, 'hang', `ip proto 112 and src ${host.address}`)
    // The worker thread has no capability to remove files of root.
    chmodSync(where.directory, 0o777)
    writeFileSync(file, '')
    await daemon.process.line(/"deed":"hang"/, WITHIN)
    const since = monotonicMs()
    expect(get(where, host, '/healthz'), 'while it hangs').toMatchObject({ exit: 28 })
    await serves(where, daemon)
    console.log(`the port answers again after ${(monotonicMs() - since).toFixed(0)} ms`)
    const frames = await capture.stop()
    const gaps = frames.slice(1).map((frame, i) => (Number(frame.at) - Number(frames[i]?.at)) * 1e3)
    expect(gaps.length, 'advertisements while the worker thread hung and was replaced').toBeGreaterThan(20)
    judgeTime(
      'longest gap between advertisements, ms',
      Math.max(...gaps),
      activeDownIntervalMs(150, 100),
      'RFC 9568 §6.1',
    )
    expect(await backup.state()).toBe('Backup')
    expect(backup.records.filter(({ msg }) => /→ Active/.test(msg))).toEqual([])
    expect(
      daemon.records.filter(({ msg }) => /The worker thread does not answer; starting a new one/.test(msg)),
    ).toHaveLength(1)
  })

  test('a request to a stopped engine times out, and a request to a dead engine is refused', async () => {
    const where = newLab(1)
    const daemon = start(where, 1, 100)
    const { host } = daemon.plan
    await reaches(daemon, 'Active')
    await serves(where, daemon)
    const [engine] = daemon.process.children
    if (engine === undefined) throw new Error('no engine')
    process.kill(engine, 'SIGSTOP')
    expect(get(where, host, '/metrics')).toMatchObject({ exit: 28, body: '' })
    process.kill(engine, 'SIGCONT')
    await serves(where, daemon)
    daemon.killAll()
    await daemon.exited
    expect(get(where, host, '/metrics')).toMatchObject({ exit: 7, body: '' })
  })

  test('the unix socket serves the metrics, also for a daemon without a port', async () => {
    const where = newLab(2)
    const [open, closed] = [start(where, 1, 1_000), start(where, 2, 1_000, [], { listen: false })]
    await reaches(open, 'Active')
    await reaches(closed, 'Backup')
    await serves(where, open)
    const names = (text: string) => new Set(text.match(/^holdfast_\w+/gm))
    const onSocket = await ask(open.socket, { path: '/metrics', within: WITHIN })
    expect(onSocket.status, onSocket.body).toBe(200)
    expect(names(onSocket.body)).toEqual(names(get(where, open.plan.host, '/metrics').body))
    const alone = await ask(closed.socket, { path: '/metrics', within: WITHIN })
    expect(alone.status, alone.body).toBe(200)
    expect(alone.body).toMatch(/^holdfast_vrrp_state\{router="vip",vrid="51",interface="eth0",state="Backup"\} 1$/m)
    expect(get(where, closed.plan.host, '/metrics'), 'no port').toMatchObject({ exit: 7 })
  })

  test('a failover is measured in gaps and phases, and every connected client receives its events immediately', async () => {
    const where = newLab(2)
    // On a busy machine, a shorter interval could make the Backup take over too early.
    const [one, two] = [start(where, 1, 1_000), start(where, 2, 1_000)]
    const { host } = two.plan
    await reaches(one, 'Active')
    await reaches(two, 'Backup')
    await serves(where, two)
    expect(get(where, host, '/readyz')).toMatchObject({ status: 200, body: 'ok' })
    const accept = ['-sN', '-H', 'Accept: text/event-stream']
    const onPort = new LoggedProcess(where, host, ['curl', ...accept, `${URL}/v1/events`])
    const onSocket = new LoggedProcess(where, host, [
      ...['curl', ...accept, '--unix-socket', two.socket, 'http://localhost/v1/events'],
    ])
    for (const stream of [onPort, onSocket]) await stream.line(/^retry:/, WITHIN)
    const gaps = () => {
      const found = metrics(where, host)
      const within = (le: string) =>
        found.get(`holdfast_vrrp_advertisement_gap_ratio_bucket{router="vip",le="${le}"}`) ?? 0
      return {
        onTime: within('1.5') - within('0.5'),
        all: found.get('holdfast_vrrp_advertisement_gap_ratio_count{router="vip"}') ?? 0,
      }
    }
    const before = await eventually(
      '4 gaps between advertisements',
      () => {
        const seen = gaps()
        return seen.all >= 4 && seen
      },
      { sight: gaps, every: 500 },
    )
    expect(
      before.onTime,
      `gaps of 0.5 to 1.5 intervals among ${before.all} gaps between advertisements`,
    ).toBeGreaterThan(before.all / 2)

    one.killAll()
    await reaches(two, 'Active')
    for (const stream of [onPort, onSocket]) {
      const line = await stream.line(/"kind":"transition".*"to":"Active"/, WITHIN)
      expect(JSON.parse(line.text.replace(/^data: /, ''))).toMatchObject({
        ...{ kind: 'transition', router: 'vip', from: 'Backup', to: 'Active' },
      })
    }
    const phases = ['advertised', 'addresses', 'firstAnnouncement', 'announced']
    const took = await eventually(
      'the takeover to be measured',
      () => {
        const found = metrics(where, host)
        const of = (what: string) =>
          phases.map((phase) => found.get(`holdfast_vrrp_takeover_duration_seconds_${what}{phase="${phase}"}`) ?? 0)
        return of('count').every((count) => count === 1) && of('sum')
      },
      { sight: () => [...metrics(where, host)].filter(([name]) => name.includes('takeover')) },
    )
    console.log(`takeover, seconds since the decision: ${phases.map((phase, i) => `${phase} ${took[i]}`).join(', ')}`)
    expect(Math.max(...took), 's from the decision to each phase of the takeover').toBeLessThan(1)
    expect(took, 's from the decision to each phase, in the order of the phases').toEqual(
      [...took].sort((a, b) => a - b),
    )
  })
})
