/**
 * Three real daemons that record, with faults on one of them. A replay of each recording repeats the actions of the engine, and its
 * story equals the story of the running daemon. A full disk ends the recording only. HOLDFAST_KEEP_RECORDINGS=FOLDER keeps the
 * recordings; test/samples/recordings was made so.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { explainCommand } from '../../src/cli/explain/explain.ts'
import { readRecording, reportText } from '../../src/cli/explain/recorded.ts'
import type { Story } from '../../src/explain/story.ts'
import { run } from '../../src/lab/command.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const INTERVAL = 500
const WITHIN = 20_000
const KEEP = process.env.HOLDFAST_KEEP_RECORDINGS

/** Removes times, which each journal has to the microsecond, and answers of checked services, which a recording does not have. */
const withoutDetail = (words: string) => words.replace(/, ([\w ]+) \([^)]*\);/, ', $1;')
const toldIn = ({ incidents }: Story) =>
  incidents.map(({ again, cause, headline, routers, steps }) => ({
    ...{ again, cause, headline: withoutDetail(headline), routers },
    steps: steps.map(({ words }) => withoutDetail(words)),
  }))

describeNetns('three daemons that record', () => {
  let lab: Lab
  let nodes: readonly Holdfast[] = []
  const healthy = () => join(lab.directory, 'healthy')
  const recordingOf = (daemon: Holdfast) => join(dirname(daemon.socket), 'recording.jsonl')
  const first = () => nodes[0] ?? expect.unreachable('there is no r1')

  beforeAll(async () => {
    lab = createLab({ routers: 3 })
    writeFileSync(healthy(), '')
    const healthchecks = [{ name: 'service', file: healthy(), interval: '200ms' }]
    nodes = [150, 180, 100].map((priority, i) => {
      const plan = { host: lab.router(i + 1), priority, intervalMs: INTERVAL, address: LAB_VIP }
      const track = i === 0 ? { track: [{ healthcheck: 'service', weight: 50 }] } : {}
      const file = join(lab.directory, `holdfast-r${i + 1}`, 'recording.jsonl')
      return new Holdfast(lab, plan, track, ['--record', file], i === 0 ? { healthchecks } : {})
    })
    await Promise.all(nodes.map((node) => node.ready()))
    await settlesOn('r1')
  })
  afterAll(() => lab.destroy())

  const sight = async () => ({
    holders: lab.holders(LAB_VIP),
    states: await Promise.all(nodes.map((node) => node.state().catch(() => 'gone'))),
  })
  const settlesOn = (name: string) =>
    eventually(
      `${name} alone to have the address, and to be Active`,
      async () => {
        const position = Number(name.slice(1)) - 1
        return lab.holders(LAB_VIP).join() === name && (await nodes[position]?.state()) === 'Active'
      },
      { sight, every: 50 },
    )
  /** Waits for several intervals: a new Backup does not take over immediately. */
  const pause = () => sleep(3 * INTERVAL)

  async function toAndFro(away: () => unknown, back: () => unknown): Promise<void> {
    await away()
    await settlesOn('r2')
    await pause()
    await back()
    await settlesOn('r1')
    await pause()
  }

  test('keep their recordings and stories while one daemon meets several faults', async () => {
    const r1 = first()
    await pause()
    await toAndFro(
      () => rmSync(healthy()),
      () => writeFileSync(healthy(), ''),
    )
    await toAndFro(
      () => r1.reload({ ...r1.plan, priority: 60 }),
      () => r1.reload(r1.plan),
    )
    await toAndFro(
      () => r1.yieldFor(6_000),
      () => {},
    )
    await toAndFro(
      () => r1.freeze(),
      () => r1.thaw(),
    )
    await toAndFro(
      () => lab.unplug(lab.router(1)),
      () => lab.plug(lab.router(1)),
    )
    // The two sides are Active until they receive each other again.
    lab.cut(lab.router(1))
    await eventually('r2 to be Active as well', async () => (await nodes[1]?.state()) === 'Active', {
      sight,
      every: 50,
    })
    await sleep(2 * INTERVAL)
    lab.heal(lab.router(1))
    await settlesOn('r1')
    await pause()
    ip(lab.router(1), `address delete ${LAB_VIP}/32 dev eth0`)
    await settlesOn('r1')
  }, 180_000)

  test('the story from each recording equals the story of the running daemon', async () => {
    for (const node of nodes) {
      const place = { socket: node.socket, file: '/nowhere' }
      const options = { router: 'vip', since: undefined, peers: [], json: true }
      const story = async (more: object): Promise<Story> => {
        const { stdout } = await explainCommand({ ...options, ...place, ...more })
        return JSON.parse(stdout)
      }
      await eventually(
        `the recording of ${node.plan.host.name} to tell what its daemon tells`,
        async () => {
          const [living, recorded] = [await story({}), await story({ recording: recordingOf(node) })]
          try {
            expect(toldIn(recorded)).toEqual(toldIn(living))
            return true
          } catch (error) {
            mismatch = String(error)
            return false
          }
        },
        { sight: () => mismatch, within: 5_000, every: 250 },
      )
    }
  })
  let mismatch = ''

  test('a replay after all nodes have left repeats the actions of each engine', async () => {
    for (const node of nodes) node.terminate()
    await Promise.all(nodes.map((node) => node.exited))
    for (const [i, node] of nodes.entries()) {
      const path = recordingOf(node)
      if (KEEP !== undefined) {
        mkdirSync(KEEP, { recursive: true })
        copyFileSync(path, join(KEEP, `r${i + 1}.jsonl`))
      }
      expect(statSync(path).mode & 0o777).toBe(0o600)
      const { journal, report } = await readRecording(path)
      expect({ matches: report.matches, end: report.end, gap: report.gap }, reportText(report).join('\n')).toEqual({
        ...{ matches: true, end: 'the daemon has left', gap: null },
      })
      expect(journal.events.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(['started', 'transition', 'peerHeard', 'stopOrdered', 'stopped']),
      )
    }
    const verified = {
      socket: '/nowhere',
      file: '/nowhere',
      router: undefined,
      since: undefined,
      peers: [],
      json: false,
    }
    const { exitCode, stdout } = await explainCommand({ ...verified, verify: true, recording: recordingOf(first()) })
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/replayed; the engine produced the same \d+ outputs as in the recording\n$/),
    })
  })
})

describeNetns('a recording on a faulty disk', () => {
  let lab: Lab | undefined
  let mounted: string | undefined
  afterEach(() => {
    if (mounted !== undefined) run(['umount', '-l', mounted])
    mounted = undefined
    lab?.destroy()
    lab = undefined
  })

  test('a full disk is logged once, and the daemon goes on', async () => {
    lab = createLab({ routers: 1 })
    const disk = join(lab.directory, 'disk')
    mkdirSync(disk)
    run(['mount', '-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', disk])
    mounted = disk
    const plan = { host: lab.router(1), priority: 200, intervalMs: INTERVAL, address: LAB_VIP }
    const daemon = new Holdfast(lab, plan, {}, ['--record', join(disk, 'recording.jsonl')])
    const complaints = () => daemon.records.filter(({ msg }) => msg.startsWith('Recording to '))
    await eventually('the daemon to say that its recording has ended', () => complaints().length > 0, {
      sight: () => daemon.lines.slice(-5),
    })
    await sleep(2_000)
    expect(complaints().map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/ended: .*ENOSPC.*the daemon continues$/),
    ])
    await daemon.becomes('Active', WITHIN)
    // The written part is a valid recording.
    const { report } = await readRecording(join(disk, 'recording.jsonl'))
    expect(report).toMatchObject({ matches: true, end: null })
    daemon.terminate()
    expect(await daemon.exited).toMatchObject({ code: 0 })
  })

  test('a missing folder and a foreign file are logged, and the daemon runs', async () => {
    const built = createLab({ routers: 2 })
    lab = built
    const notes = join(built.directory, 'notes')
    writeFileSync(notes, 'of somebody')
    const places: readonly (readonly [string, RegExp])[] = [
      ['/no/such/folder/recording', /ENOENT/],
      [notes, /is not a recording: choose another path/],
    ]
    for (const [i, [path, why]] of places.entries()) {
      const plan = { host: built.router(i + 1), priority: 200, intervalMs: INTERVAL, address: LAB_VIP, vrid: 51 + i }
      const daemon = new Holdfast(built, plan, {}, ['--record', path])
      await daemon.ready()
      const said = () => daemon.records.filter(({ msg }) => msg.includes('runs without a recording'))
      await eventually('it to be said', () => said().length > 0, { sight: () => daemon.lines })
      expect(said().map(({ msg }) => msg)).toEqual([expect.stringMatching(why)])
      daemon.terminate()
      await daemon.exited
    }
    expect(readFileSync(notes, 'utf8')).toBe('of somebody')
  })
})
