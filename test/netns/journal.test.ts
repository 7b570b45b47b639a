/**
 * The event journal and the run directory on a disk that is full, read-only or without an answer. The daemon goes on and logs the problem.
 * When the disk has space again, the journal file contains the number of missing events.
 */
import { chownSync, linkSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { nodeEvents } from '../../src/cli/explain/event-source.ts'
import { statusCommand } from '../../src/cli/status/status.ts'
import { eventsIn } from '../../src/events/journal-file.ts'
import { run } from '../../src/lab/command.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const INTERVAL = 1_000
const WITHIN = 20_000
const MORE = '10.77.0.101'
/** Time in ms after which a failed write is repeated. */
const TRY_AGAIN = 10_500

let lab: Lab | undefined
let mounted: string | undefined
afterEach(() => {
  if (mounted !== undefined) run(['umount', '-l', mounted])
  mounted = undefined
  lab?.destroy()
  lab = undefined
})

/** Creates one router without neighbours, and a small disk of its own for the journal. */
function scene(options: string): { lab: Lab; disk: string; file: string } {
  const built = createLab({ routers: 1 })
  lab = built
  const disk = join(built.directory, 'disk')
  mkdirSync(disk)
  run(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs', disk])
  mounted = disk
  return { lab: built, disk, file: join(disk, 'events.jsonl') }
}

async function active({ lab: built, file }: ReturnType<typeof scene>): Promise<Holdfast> {
  const plan = { host: built.router(1), priority: 200, intervalMs: INTERVAL, address: LAB_VIP }
  const daemon = new Holdfast(built, plan, {}, [], { journal: { file } })
  await daemon.becomes('Active', WITHIN)
  return daemon
}

const warnings = (daemon: Holdfast) =>
  daemon.records.filter(({ msg }) => msg.startsWith('Cannot write the event journal'))
const kinds = async (daemon: Holdfast) =>
  (await nodeEvents({ socket: daemon.socket, file: '/nowhere' })).events.map(({ kind }) => kind)

/** Returns the kinds of all lines; throws at the first line that is no JSON, where jq would end. */
const wholeLines = (file: string): readonly unknown[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line).kind)

describeNetns('a run directory that cannot be written', () => {
  test('ends the daemon with exit status 78 before the daemon takes part in VRRP', async () => {
    const { disk, lab: built } = scene('size=64k,ro')
    const plan = { host: built.router(1), priority: 200, intervalMs: INTERVAL, address: LAB_VIP }
    const daemon = new Holdfast(built, plan, {}, [], { runDirectory: disk })
    expect(await daemon.exited).toMatchObject({ code: 78 })
    const output = daemon.process.lines.map(({ text }) => text).join('\n')
    expect(output).toContain(`Cannot write in ${disk} (EROFS)`)
    expect(output, 'output of the daemon, which must contain no state of the router').not.toContain('Initialize')
  })

  test.each([
    ['no inode is left', 'size=64k,nr_inodes=1', [], /^Cannot listen on .*holdfast\.sock: .*ENOSPC/],
    [
      "another user's stale socket lies in a sticky folder",
      'size=64k,mode=1777,uid=1234',
      ['setpriv', '--bounding-set=-fowner'],
      /^Cannot listen on .*holdfast\.sock: a socket of an earlier run is there \(EPERM/,
    ],
  ])('%s: said with exit status 78 before the daemon takes part', async (what, options, launcher, message) => {
    const { disk, lab: built } = scene(options)
    const plan = { host: built.router(1), priority: 200, intervalMs: INTERVAL, address: LAB_VIP }
    if (what.includes('stale')) await leaveSocket(join(disk, 'holdfast.sock'))
    const daemon = new Holdfast(built, plan, {}, [], { runDirectory: disk }, launcher)
    expect(await daemon.exited).toMatchObject({ code: 78 })
    const lines = daemon.process.lines.map(({ text }) => text)
    expect(lines).toHaveLength(1)
    expect(lines[0]?.replace(/^\S+: /, '')).toMatch(message)
  })
})

/** Gives the socket a second name, which stays when its server removes the first name. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(`${path}.first`, () => resolve()))
  linkSync(`${path}.first`, path)
  await new Promise((resolve) => server.close(resolve))
  chownSync(path, 4321, 4321)
}

describeNetns('a run directory whose disk does not answer', () => {
  test('costs the address list and one log line, and start, reload and release do not wait for the disk', async () => {
    const built = createLab({ routers: 1 })
    lab = built
    const folder = join(built.directory, 'holdfast-r1')
    mkdirSync(folder)
    // Opening a FIFO for writing waits until a process reads the FIFO.
    run(['mkfifo', join(folder, 'addresses.json.new')])
    const plan = { host: built.router(1), priority: 200, intervalMs: INTERVAL, address: LAB_VIP }
    const daemon = new Holdfast(built, plan)
    const last = () => daemon.lines.slice(-5)
    const holdsAll = (...vips: string[]) => vips.every((vip) => built.holders(vip).join() === 'r1')
    await eventually('r1 to have the address', () => holdsAll(LAB_VIP), { sight: last })
    daemon.reload({ ...plan, addresses: [LAB_VIP, MORE] })
    await eventually('r1 to have the new address', () => holdsAll(LAB_VIP, MORE), { sight: last })
    const said = () => daemon.records.filter(({ msg }) => msg.includes('addresses.json')).map(({ msg }) => msg)
    await eventually('a log line', () => said().length === 1, { sight: said })
    expect(said()).toEqual([`Cannot write ${join(folder, 'addresses.json')}: the disk does not answer`])
    daemon.terminate()
    const holders = () => [LAB_VIP, MORE].flatMap((vip) => built.holders(vip))
    await eventually('nobody to have an address', () => holders().length === 0, { sight: holders })
  })
})

describeNetns('an event journal on a faulty disk', () => {
  test('a full disk is logged once, events stay in memory, and the file later names the number of missing events', async () => {
    const found = scene('size=64k')
    const filler = join(found.disk, 'filler')
    try {
      writeFileSync(filler, Buffer.alloc(1 << 20))
    } catch {
      // The write fails when the disk is full, as intended.
    }
    const daemon = await active(found)
    expect(warnings(daemon).map(({ msg }) => msg)).toEqual([expect.stringMatching(/events\.jsonl: .*(ENOSPC|full)/)])
    expect(await kinds(daemon)).toEqual(expect.arrayContaining(['started', 'transition', 'announced']))
    const counted = (await daemon.snapshot())?.journal
    expect(counted).toMatchObject({ file: found.file, problem: expect.stringMatching(/ENOSPC|full/) })
    const { stdout } = await statusCommand(daemon.socket, { json: false })
    expect(stdout).toMatch(/^event journal \S+: CANNOT BE WRITTEN: .*, \d+ events are missing$/m)
    rmSync(filler)
    await sleep(TRY_AGAIN)
    await daemon.yieldFor(1_000)
    const written = () => eventsIn(readFileSync(found.file, 'utf8'))
    const gap = await eventually(
      'the gap to be in the file',
      () => written().find(({ kind }) => kind === 'journalGap'),
      { sight: () => written() },
    )
    expect(gap).toMatchObject({ lost: expect.any(Number), why: expect.stringMatching(/ENOSPC|full/) })
    expect(await daemon.state(), 'state of the router, which has no neighbour').not.toBe('Initialize')
    expect((await daemon.snapshot())?.journal).toMatchObject({
      problem: null,
      lost: gap?.kind === 'journalGap' && gap.lost,
    })
  })

  test('if the disk is full in the middle of a line, every line of the journal file is whole, at that time and later', async () => {
    const found = scene('size=64k')
    const daemon = await active(found)
    const { bavail, bsize } = statfsSync(found.disk)
    const filler = join(found.disk, 'filler')
    // The disk keeps the rest of the page that the journal has begun.
    writeFileSync(filler, Buffer.alloc(bavail * bsize))
    const becomes = (failing: boolean) =>
      eventually(
        `the journal ${failing ? 'not ' : ''}to be kept`,
        async () => {
          await daemon.yieldFor(50).catch(() => {})
          return ((await daemon.snapshot())?.journal?.problem !== null) === failing
        },
        { sight: () => daemon.lines.slice(-3), every: 100 },
      )
    await becomes(true)
    expect(wholeLines(found.file)).toContain('started')
    rmSync(filler)
    await sleep(TRY_AGAIN)
    await becomes(false)
    await eventually('the gap to be in the file', () => wholeLines(found.file).includes('journalGap'), {
      sight: () => wholeLines(found.file),
    })
  })

  test('a read-only disk is logged, and everything except the journal file works', async () => {
    const found = scene('size=64k,ro')
    const daemon = await active(found)
    expect(warnings(daemon).map(({ msg }) => msg)).toEqual([expect.stringContaining('EROFS')])
    expect(await kinds(daemon)).toEqual(expect.arrayContaining(['started', 'transition', 'announced']))
    daemon.terminate()
    expect(await daemon.exited).toMatchObject({ code: 0 })
  })
})
