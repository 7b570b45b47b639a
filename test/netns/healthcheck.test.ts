/**
 * The VIP follows the healthy service. Two real daemons run beside real servers and programs on the node of the first daemon, which fail in
 * several ways. All tests share one LAN and one pair of daemons, because a failure must leave nothing behind for the next failure. A client
 * that probes every millisecond shows the holder, and the daemon's status must agree.
 */
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { type Authority, createAuthority } from '../support/certificates.ts'
import { programsOf } from '../support/marked-processes.ts'
import { describeNetns } from '../support/require.ts'

const SUPPORT = join(import.meta.dirname, '..', 'support')
const INTERVAL = 200
const WITHIN = 8_000
const POLL = 500
/** Timeout of the checks in ms. A server that is slow on a busy machine must not fail. */
const TIMEOUT = 1_500

/** Checks of r1, each with a weight. r1 has priority 150 while all checks are up, and 100 or less if one is down; r2 has 120. */
const CHECKS = ['web', 'tls', 'name', 'script', 'pattern'] as const
type Check = (typeof CHECKS)[number]

describeNetns('the VIP follows the healthy service', () => {
  let lab: Lab
  let host: Host
  let authority: Authority
  let first: Holdfast
  let second: Holdfast
  let prober: Prober
  let service: LoggedProcess
  let names: LoggedProcess
  let folder = ''
  let resolver = ''
  let mark = ''

  /** Replaces a file by a rename, because the service may read the file at any moment. */
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, `${name}.new`), text)
    renameSync(join(folder, `${name}.new`), join(folder, name))
  }

  async function serve(): Promise<LoggedProcess> {
    const started = new LoggedProcess(lab, host, [process.execPath, join(SUPPORT, 'checked-service.mjs'), folder])
    await started.line(/listening/, WITHIN)
    return started
  }

  function certify(validMs: number): void {
    const { key, cert } = authority.issue('DNS:localhost', { to: new Date(Date.now() + validMs) })
    write('key.pem', key)
    write('cert.pem', cert)
  }

  beforeAll(async () => {
    lab = createLab({ routers: 2 })
    host = lab.router(1)
    folder = lab.directory
    // A program that runs as user nobody must be able to read its interpreter.
    chmodSync(folder, 0o755)
    ip(host, 'link set lo up')
    resolver = join('/etc/netns', host.namespace)
    mkdirSync(resolver, { recursive: true })
    writeFileSync(join(resolver, 'resolv.conf'), 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
    authority = createAuthority()
    certify(3_600_000)
    write('mode', '200')
    write('text', 'aaa')
    write('check', `#!/bin/sh\ntest "$(id -u)" = 65534 || exit 9\ntest ! -e ${folder}/stuck && exit 0\n${STUCK}\n`)
    chmodSync(join(folder, 'check'), 0o755)
    mark = `HOLDFAST_TEST=${folder}`
    for (const each of lab.routers) startResponder(lab, each)
    prober = new Prober(lab, lab.client, LAB_VIP)
    names = new LoggedProcess(lab, host, [process.execPath, join(SUPPORT, 'slow-names.mjs'), '300'])
    service = await serve()
    const probes = {
      web: { http: 'http://127.0.0.1:8080/' },
      tls: { http: 'https://localhost:8443/', tls: { caFile: authority.caFile } },
      name: { http: 'http://service.example:8080/' },
      script: { exec: [join(folder, 'check')], user: 'nobody', environment: { HOLDFAST_TEST: folder } },
      // A bad pattern. Some texts make its match last for ever, and the whole thread hangs.
      pattern: { http: 'http://127.0.0.1:8080/text', body: { matches: '^(a+)+$' } },
    }
    const settings = { interval: `${POLL}ms`, timeout: `${TIMEOUT}ms`, jitter: '0%' }
    const healthchecks = CHECKS.map((name) => ({ name, ...settings, ...probes[name] }))
    const track = CHECKS.map((healthcheck) => ({ healthcheck, weight: -50 }))
    const plan = { intervalMs: INTERVAL, address: LAB_VIP }
    const options = ['--realtime']
    const damping = { minHold: '0s' }
    first = new Holdfast(lab, { ...plan, host, priority: 150 }, { track, ...damping }, options, { healthchecks })
    second = new Holdfast(lab, { ...plan, host: lab.router(2), priority: 120 }, damping, options)
    await Promise.all([first.ready(), second.ready()])
    await everythingIsUp('the start')
  })
  afterAll(() => {
    authority?.remove()
    lab?.destroy()
    if (resolver !== '') rmSync(resolver, { recursive: true, force: true })
  })

  const sight = async () => ({
    client: prober.holder,
    router: await first.router(),
    // Log lines about checks, transitions, and faults of the engine.
    log: first.records
      .filter(({ msg }) => /^healthcheck|→|guardian|will|worker/.test(msg))
      .map(({ at, msg }) => `${(at - monotonicMs()).toFixed(0)} ms: ${msg}`)
      .slice(-12),
  })

  const holderIs = (position: number, occasion: string) =>
    eventually(`r${position} to answer after ${occasion}`, () => prober.holder === `r${position}`, { sight, every: 2 })

  async function everythingIsUp(occasion: string): Promise<void> {
    const isUp = async () => {
      const { healthchecks = [], routers } = (await first.snapshot()) ?? {}
      const all = healthchecks.length === CHECKS.length && healthchecks.every(({ result }) => result === 'up')
      return all && routers?.[0]?.priority.effective === 150 && prober.holder === 'r1'
    }
    await eventually(`every check up and r1 to answer after ${occasion}`, isUp, { sight, within: 2 * WITHIN })
  }

  const account = async (check: Check) =>
    (await first.snapshot())?.healthchecks.find(({ name }) => name === check) ?? 'the daemon says nothing of it'

  /** Waits for a log line of this check at or after `since`, and returns the line. */
  const told = (check: Check, since: number, words: RegExp) =>
    eventually(
      `the log to say ${words} of ${check}`,
      () =>
        first.records.find(({ at, msg }) => at >= since && msg.startsWith(`healthcheck ${check}:`) && words.test(msg)),
      { sight },
    )

  /**
   * Returns the log lines about check results and priorities after `since`. The loss of an address by an engine without CPU is not tested
   * here.
   */
  const movesSince = (since: number) =>
    first.records
      .filter(({ at, msg }) => at > since && /^healthcheck|effective priority/.test(msg))
      .map(({ msg }) => msg)

  /** Makes the service fail. Returns the ms until r2 answered the client. */
  async function loses(what: string, fail: () => void): Promise<{ readonly since: number; readonly took: number }> {
    const since = monotonicMs()
    fail()
    await holderIs(2, what)
    const took = (prober.movedFrom('r1', since)?.at ?? Number.NaN) - since
    console.log(`${what}: the client is answered by the other node after ${took.toFixed(0)} ms`)
    return { since, took }
  }

  test('if the process of the service is killed, r2 takes over, and the log has the reason', async () => {
    const { since } = await loses('a killed server', () => void service.signal('SIGKILL'))
    await told('web', since, /up → down: connection (refused|reset)/)
    expect((await second.router()).reason, 'reason for which r2 took over').toMatch(
      /^(activeDemoted|lowerPriorityActive)$/,
    )
    // Four checks use this server, so all four weights count.
    await eventually('the sum of all that is down', async () => (await first.router()).priority.effective === 1, {
      sight,
    })
    expect(await account('web')).toMatchObject({
      result: 'down',
      countsAs: 'down',
      last: { ok: false, reason: expect.stringMatching(/^connection/) },
      routers: [{ router: 'vip', adds: -50 }],
    })
    expect(await account('script')).toMatchObject({ result: 'up', last: { reason: 'ok' }, routers: [{ adds: 0 }] })
    service = await serve()
    await everythingIsUp('the server came back')
  })

  test('if the service hangs, the check is down after at most an interval and a timeout', async () => {
    const { since } = await loses('a server that hangs', () => void service.signal('SIGSTOP'))
    const { at } = await told('web', since, /up → down: no result in time/)
    expect(at - since, 'ms from the stop of the service to the log line of the check').toBeLessThan(
      POLL + TIMEOUT + 1_000,
    )
    service.signal('SIGCONT')
    await everythingIsUp('the server went on')
  })

  test('if the service answers 500, the check is down after at most an interval', async () => {
    const { since } = await loses('a server that answers 500', () => write('mode', '500'))
    const { at } = await told('web', since, /up → down: unexpected HTTP status/)
    expect(at - since, 'ms from the first answer 500 to the log line of the check').toBeLessThan(POLL + 1_000)
    write('mode', '200')
    await everythingIsUp('it answers 200')
  })

  test('if the certificate expires while TLS sessions are resumed, only the https check fails', async () => {
    const lives = 4_000
    certify(lives)
    service.signal('SIGHUP')
    const { since } = await loses('an expired certificate', () => {})
    await told('tls', since, /up → down: certificate not accepted .*expired/)
    expect((await first.router()).priority.effective).toBe(100)
    certify(3_600_000)
    service.signal('SIGHUP')
    await everythingIsUp('a new certificate')
  })

  test('a name server that does not answer changes no result, and no other check waits for it', async () => {
    const since = monotonicMs()
    names.signal('SIGSTOP')
    await sleep(3_000)
    expect(movesSince(since)).toEqual([])
    names.signal('SIGCONT')
  })

  test('of a check program that ignores SIGTERM, no process survives, not even a grandchild in a session of its own', async () => {
    const { since } = await loses('a program that hangs', () => write('stuck', ''))
    await told('script', since, /up → down: no result in time/)
    rmSync(join(folder, 'stuck'))
    await everythingIsUp('the program ends again')
    await eventually('nothing of it to be left', () => programsOf(mark).every(({ name }) => name === 'check'), {
      sight: () => programsOf(mark),
    })
    expect(programsOf(mark).filter(({ name }) => name === 'sleep')).toEqual([])
  })

  test('a check thread that hangs is replaced, the results stay, and the new thread notices failures', async () => {
    const before = monotonicMs()
    const hungAt = Date.now()
    write('text', `${'a'.repeat(60)}!`)
    const { at } = await eventually(
      'the thread to be given up',
      () => first.records.find(({ msg }) => msg.includes('The worker thread does not answer')),
      { sight, within: 3 * WITHIN },
    )
    write('text', 'aaa')
    const ran = async () => {
      const script = (await first.snapshot())?.healthchecks.find(({ name }) => name === 'script')
      return Date.parse(script?.last?.at ?? '') > hungAt + 2_000
    }
    await eventually('programs to be run for the new thread', ran, { sight: () => account('script') })
    expect(movesSince(before)).toEqual([])
    expect((await first.router()).priority.effective, 'priority of r1 after the new thread has started').toBe(150)
    const { since } = await loses('a killed server, after another thread had begun', () => {
      service.signal('SIGKILL')
    })
    await told('web', since, /up → down/)
    expect(since).toBeGreaterThan(at)
    service = await serve()
    await everythingIsUp('the server came back')
  })

  test('after the end of the daemon, no check program is left', async () => {
    first.terminate()
    await first.exited
    await eventually('no program and no launcher', () => programsOf(mark).length === 0, {
      sight: () => programsOf(mark),
      within: 3_000,
    })
  })
})

/** A program that ignores signals, as do its children. A child of the program has left its session and its parent. */
const STUCK = `trap '' TERM; setsid sh -c 'trap "" TERM; (setsid sleep 611 &); sleep 612' & sleep 613`
