/**
 * Faults of two real daemons, and the later output of `holdfast explain`, which names the fault (docs/explain.md). All tests share one LAN
 * and one pair of daemons, because a story must also begin where its fault begins. The story comes from r2, which sees the faults of r1
 * from outside, together with the journal of r1.
 */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { explainCommand } from '../../src/cli/explain/explain.ts'
import type { Cause } from '../../src/explain/cause.ts'
import type { Story } from '../../src/explain/story.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, HOLDFAST, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { describeNetns } from '../support/require.ts'

/**
 * Interval in ms. An Active without CPU for three intervals removes its addresses. On a machine with busy cores, that happens at 100 ms,
 * and with real-time priority it does not happen at 250 ms.
 */
const INTERVAL = 250
const WITHIN = 20_000
const YIELD = 4_000
const PORT = 9655

describeNetns('holdfast explain names the fault', () => {
  let lab: Lab
  let first: Holdfast
  let second: Holdfast
  let prober: Prober
  const healthy = () => join(lab.directory, 'healthy')

  const start = (position: number, priority: number) => {
    const plan = { host: lab.router(position), priority, intervalMs: INTERVAL, address: LAB_VIP, realtime: true }
    const healthchecks = [{ name: 'service', file: healthy(), interval: '100ms' }]
    const isFirst = position === 1
    const track = isFirst ? { track: [{ healthcheck: 'service', weight: 50 }] } : {}
    const url = `http://${lab.router(1).address}:${PORT}`
    const api = isFirst ? { listen: `${plan.host.address}:${PORT}`, public: true } : { peers: [url] }
    const preload = join(packageRoot(), 'test', 'support', 'misbehaving-engine.mjs')
    const canThrow = ['env', `NODE_OPTIONS=--import=${preload}`, `MISBEHAVIOUR=${join(lab.directory, 'orders')}`]
    return new Holdfast(lab, plan, track, [], { api, ...(isFirst ? { healthchecks } : {}) }, isFirst ? canThrow : [])
  }

  const holders = () => lab.holders(LAB_VIP).join()
  const sight = () => ({ client: prober.holder, holders: holders() })
  const answeredBy = (name: string) => prober.answeredBy(name, WITHIN)
  const settlesOn = (name: string) =>
    eventually(`${name} alone to have the address`, () => prober.holder === name && holders() === name, { sight })

  /** Waits for the story: the daemon writes its journal after its other work. */
  async function story(since: number, wanted: Cause, headline: RegExp): Promise<Story> {
    const directories = [dirname(second.socket), dirname(first.socket)]
    const [own = '', peer = ''] = directories
    const options = { router: 'vip', since: new Date(since).toISOString(), peers: [peer], asksPeers: false, json: true }
    let told: Story | undefined
    await eventually(
      `the story to name ${wanted}: ${headline}`,
      async () => {
        const places = { socket: join(own, 'holdfast.sock'), file: join(own, 'events.jsonl') }
        const { stdout } = await explainCommand({ ...options, ...places })
        const read: Story = JSON.parse(stdout)
        told = read
        return read.incidents.some((incident) => incident.cause === wanted && headline.test(incident.headline))
      },
      { sight: () => told?.incidents.map(({ cause, headline }) => ({ cause, headline })), within: 5_000, every: 250 },
    )
    if (told === undefined) throw new Error('explain printed no story')
    return told
  }

  beforeAll(async () => {
    lab = createLab({ routers: 2 })
    for (const host of lab.routers) startResponder(lab, host)
    writeFileSync(healthy(), '')
    writeFileSync(join(lab.directory, 'orders'), 'throw')
    first = start(1, 150)
    second = start(2, 180)
    await Promise.all([first.ready(), second.ready()])
    prober = new Prober(lab, lab.client, LAB_VIP)
    await settlesOn('r1')
  })
  afterAll(() => lab.destroy())

  type Row = {
    readonly fault: string
    readonly cause: Cause
    readonly headline: RegExp
    /** Expected text about the present fault, from both journals. */
    readonly now?: RegExp
    /** Expected text from the journal of r1 alone, during the fault. */
    readonly alone?: RegExp
    /** Start of the story of r1; without a value, the start of the fault. */
    readonly since?: string
    readonly inflict: () => Promise<unknown>
    /** Ends the fault, before the story of both journals is read. */
    readonly later?: () => Promise<unknown>
    readonly undo: () => Promise<unknown>
  }

  const observer = (action: string) => ip(lab.host('observer'), `address ${action} ${LAB_VIP}/32 dev eth0`)
  const again = async () => {
    await first.exited
    first = start(1, 150)
    await first.ready()
    await settlesOn('r1')
  }

  const ROWS: readonly Row[] = [
    {
      fault: 'the engine has a bug',
      cause: 'engineDied',
      headline:
        /moved from .* to .*: the engine of .* crashed by an uncaught exception \(Error: misbehaving as it was told\); its guardian released the VIP/,
      inflict: async () => {
        const [engine] = first.process.children
        if (engine === undefined) throw new Error('Cannot find the engine of r1')
        process.kill(engine, 'SIGWINCH')
        await answeredBy('r2')
      },
      undo: again,
    },
    {
      fault: 'somebody removes the address',
      cause: 'foreignChange',
      headline: /another program removed 10\.77\.0\.100 from eth0: holdfast added the address again/,
      inflict: async () => ip(lab.router(1), `address delete ${LAB_VIP}/32 dev eth0`),
      undo: () => settlesOn('r1'),
    },
    {
      fault: 'another host has the address',
      cause: 'duplicateHolder',
      headline: /another host, .* answers for 10\.77\.0\.100 as well/,
      alone: /^now: \S+( \(.*\))?: another host, .*, answers for 10\.77\.0\.100 \(vip\) as well/m,
      since: '1ms',
      inflict: async () => {
        observer('add')
        const isFound = async () => (await first.router()).duplicates.length > 0
        await eventually('r1 to find it', isFound, { sight: () => first.router() })
      },
      undo: async () => {
        observer('delete')
        await settlesOn('r1')
      },
    },
    {
      fault: 'a health check fails',
      cause: 'checkFailed',
      headline: /moved from .* to .*: health check service failed on/,
      alone: /^\S+ {2}vip \(10\.77\.0\.100\) moved from \S+ to 10\.77\.0\.12: health check service failed on/m,
      inflict: async () => {
        rmSync(healthy())
        await settlesOn('r2')
      },
      undo: async () => {
        writeFileSync(healthy(), '')
        await settlesOn('r1')
      },
    },
    {
      fault: 'a reload lowers the priority',
      cause: 'reloaded',
      headline: /moved from .* to .*: a reload changed the configuration on/,
      alone: /moved from \S+ to 10\.77\.0\.12: a reload changed the configuration on/,
      inflict: async () => {
        first.reload({ ...first.plan, priority: 60 })
        await settlesOn('r2')
      },
      undo: async () => {
        first.reload(first.plan)
        await settlesOn('r1')
      },
    },
    {
      fault: 'yield',
      cause: 'yielded',
      headline: /moved from .* to .*: an operator ordered .* to yield/,
      alone: /moved from \S+ to 10\.77\.0\.12: an operator ordered .* to yield/,
      inflict: async () => {
        await first.yieldFor(YIELD)
        await settlesOn('r2')
      },
      undo: () => settlesOn('r1'),
    },
    {
      fault: 'the network between them is cut',
      cause: 'cut',
      now: /^vip \(10\.77\.0\.100\): .* and .* are both Active: they do not receive/,
      headline: /moved from .* to .*: advertisements of .* did not reach .*: the network between them was cut/,
      inflict: async () => {
        lab.cut(lab.router(1))
        await answeredBy('r2')
        await sleep(3 * INTERVAL)
      },
      undo: async () => {},
    },
    {
      fault: 'the cut is healed',
      cause: 'healed',
      headline: /were both Active for .*: they hear each other again, and .* becomes Backup/,
      inflict: async () => {
        lab.heal(lab.router(1))
        await settlesOn('r1')
      },
      undo: async () => {},
    },
    {
      fault: 'a reload of a file that is wrong',
      cause: 'reloadFailed',
      headline: /cannot reload its configuration \(invalid: /,
      inflict: async () => {
        writeFileSync(first.file, 'virtualRouters: everything')
        first.process.signal('SIGHUP')
      },
      undo: async () => {
        first.reload(first.plan)
        await settlesOn('r1')
      },
    },
    // The fault of the address happens soon before the fault about the lost link, and must not be named as its cause.
    {
      fault: 'two that are configured differently',
      cause: 'discarded',
      headline:
        /came to .*: .* discards the advertisements of another router: its VRRP version is not the expected one/,
      inflict: async () => {
        // Version 2 has intervals of whole seconds only.
        first.reload({ ...first.plan, version: 2, intervalMs: 1_000 })
        const isAlone = async () => (await first.state()) === 'Active' && (await first.router()).version === 2
        await eventually('r1 to be Active in version 2', isAlone, { sight })
      },
      undo: async () => {
        first.reload(first.plan)
        await settlesOn('r1')
      },
    },
    {
      fault: 'carrier lost',
      cause: 'carrierLost',
      headline: /moved from .* to .*: .* lost its link/,
      alone: /vip \(10\.77\.0\.100\) left \S+: \S+ lost its link/,
      inflict: async () => {
        lab.unplug(lab.router(1))
        await settlesOn('r2')
      },
      undo: async () => {
        lab.plug(lab.router(1))
        await settlesOn('r1')
      },
    },
    {
      fault: 'the engine is frozen',
      cause: 'engineAway',
      headline: /moved from .* to .*: the engine of .* did not run/,
      alone: /^now: .*its process is running but not responding \(frozen or no CPU\); Active for vip/m,
      since: '1s',
      inflict: async () => {
        first.freeze()
        await settlesOn('r2')
      },
      later: async () => first.thaw(),
      undo: () => settlesOn('r1'),
    },
    {
      fault: 'SIGTERM',
      cause: 'stopped',
      headline: /moved from .* to .*: .* was ordered to stop \(SIGTERM\)/,
      alone: /^now: .*: holdfast is stopped[\s\S]*: \S+ was ordered to stop \(SIGTERM\)/m,
      inflict: async () => {
        first.terminate()
        await settlesOn('r2')
      },
      undo: again,
    },
    {
      fault: 'kill -9 of the engine',
      cause: 'engineDied',
      headline: /moved from .* to .*: the engine of .* crashed or was killed; its guardian released the VIP/,
      alone:
        /^now: .*: holdfast does not run: the engine \(pid \d+\) crashed or was killed; the engine was Active for vip \(10\.77\.0\.100\)/m,
      since: '1s',
      inflict: async () => {
        first.killEngine()
        await settlesOn('r2')
      },
      undo: again,
    },
    {
      fault: 'kill -9 of the guardian',
      cause: 'guardianLost',
      headline: /moved from .* to .*: .* lost its guardian and stopped/,
      inflict: async () => {
        first.process.signal('SIGKILL')
        await settlesOn('r2')
      },
      undo: again,
    },
    {
      fault: 'kill -9 of all its processes',
      cause: 'nodeDied',
      headline: /moved from .* to .*: .* died: engine and guardian together/,
      inflict: async () => {
        first.killAll()
        await answeredBy('r2')
      },
      undo: again,
    },
  ]

  const command = (position: 1 | 2, words: readonly string[]): string => {
    const { socket } = position === 1 ? first : second
    const [program = '', ...argv] = lab.commandOn(lab.router(position), [HOLDFAST, 'explain', ...words, '-s', socket])
    return execFileSync(program, argv, { encoding: 'utf8', stdio: 'pipe' })
  }

  /** Runs explain on r2 as an operator does. */
  function explained(...words: readonly string[]): Story {
    const story: Story = JSON.parse(command(2, ['vip', '--json', ...words]))
    return story
  }

  test('explain reads the journal of a peer over HTTP, and shows the difference of the clocks', () => {
    const { nodes, problems } = explained('--no-ask-peers', '--peer', `http://${lab.router(1).address}:${PORT}`)
    expect(problems).toEqual([])
    expect(nodes).toMatchObject([{ by: 'itself' }, { by: 'transmissions', pairs: expect.any(Number) }])
    expect(
      Math.abs(nodes[1]?.offsetMs ?? Number.NaN),
      'ms between the clocks of two nodes of this machine',
    ).toBeLessThan(100)
  })

  test('explain asks the peers of api.peers, and shows a peer once if the command names it as well', () => {
    const url = `http://${lab.router(1).address}:${PORT}`
    expect(explained()).toMatchObject({ problems: [], nodes: [{ by: 'itself' }, { by: 'transmissions' }] })
    expect(explained('--peer', url, '--peer', `${url}/`).nodes).toHaveLength(2)
    expect(explained('--no-ask-peers').nodes).toHaveLength(1)
  })

  test('a wrong router name is an error that names the most similar router name', () => {
    const wrong = () => command(2, ['vipp', '--since', '1h'])
    expect(wrong).toThrow(
      expect.objectContaining({ status: 64, stderr: expect.stringContaining('did you mean "vip"?') }),
    )
  })

  test('a peer that does not answer causes a note', () => {
    const { nodes, problems } = explained(
      '--no-ask-peers',
      ...[`http://${lab.router(1).address}:1`, '/no/such/journal'].flatMap((peer) => ['--peer', peer]),
    )
    expect(nodes).toHaveLength(1)
    expect(problems).toEqual([
      expect.stringMatching(/^Cannot read the journal of http:.*: /),
      expect.stringMatching(/^Cannot read the journal of \/no\/such\/journal: /),
    ])
  })

  test.each(ROWS.map((row) => [row.fault, row] as const))(
    'explain names the fault: %s',
    async (_, { alone, cause, headline, inflict, undo, ...row }) => {
      const since = Date.now()
      await inflict()
      if (alone !== undefined) {
        const told = () => command(1, ['vip', '--since', row.since ?? new Date(since).toISOString()])
        await eventually(`r1 to tell ${alone}`, () => alone.test(told()), { sight: told, within: 5_000, every: 250 })
        expect(told()).not.toContain('Nothing has happened')
      }
      await row.later?.()
      const told = await story(since, cause, headline)
      if (row.now !== undefined)
        expect(told.now).toContainEqual(expect.objectContaining({ words: expect.stringMatching(row.now) }))
      await undo()
      // A Backup that has just become Backup does not take over immediately (fastPreempt).
      await sleep(4 * INTERVAL)
    },
  )
})
