/**
 * The guardian's clock, watched from outside: a packet socket in the neighbour's namespace, with the kernel's receive
 * times, and ip(8). The engine is clock-engine.ts, which sends no frame itself.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { cable, makeNamespace, removeAll, Talker } from '../../src/lab/cable.ts'
import { ip, linkOf, shownAddresses } from '../../src/lab/ip.ts'
import type { Said } from '../../src/lab/json-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'
import type { ClockEngineOrder } from './clock-engine.ts'
import type { ObserverOrder } from './clock-observer.ts'
import { runSource } from './linux-fixture.ts'
import { GUARDIAN } from './native-fixture.ts'

const ENGINE = runSource(join(import.meta.dirname, 'clock-engine.ts'))
const OBSERVER = runSource(join(import.meta.dirname, 'clock-observer.ts'))
const VIP = '198.51.100.200'
const [SLOT, UNIT] = [300, 9]

type Frame = { readonly kind: string; readonly slot: number; readonly at: number; readonly priority: number } & {
  readonly word: number
}

const clockThreadOf = (guardian: number): string =>
  readdirSync(`/proc/${guardian}/task`).find(
    (thread) => readFileSync(`/proc/${guardian}/task/${thread}/comm`, 'utf8') === 'holdfast-clock\n',
  ) ?? ''

describeNetns("the guardian's clock", () => {
  let here = ''
  let there = ''
  let index = 0
  let engine: Talker | undefined
  let observer: Talker
  const stopped = new Set<number>()

  beforeAll(async () => {
    here = makeNamespace()
    there = makeNamespace()
    cable(here, there)
    index = linkOf(here, 'eth0').ifindex
    observer = new Talker(there, OBSERVER)
    await observer.line('ready', ({ ready }) => ready === true, 30_000)
  })
  afterEach(async () => {
    for (const pid of stopped) signal(pid, 'SIGCONT')
    stopped.clear()
    engine?.hush()
    await engine?.ended
    observer.said.length = 0
    for (const { local } of shownAddresses(here)) if (local === VIP) ip(here, `addr del ${VIP} dev eth0`)
  })
  afterAll(removeAll)

  function signal(pid: number, name: NodeJS.Signals): void {
    if (name === 'SIGSTOP') stopped.add(pid)
    try {
      process.kill(pid, name)
    } catch {
      // The test ended the process.
    }
  }

  async function start(...options: readonly string[]) {
    const from = monotonicMs()
    // The observer of all tests may report the last frames of the engine before.
    const heard = () => observer.said.filter(({ at }) => Number(at) > from)
    const talker = new Talker(here, [GUARDIAN, ...options, '--', ...ENGINE])
    engine = talker
    const pid = Number((await talker.line('ready', ({ ready }) => ready === true)).pid)
    const frames = (slot = SLOT): readonly Frame[] =>
      heard().flatMap((line) => (line.slot === slot && line.priority === 100 ? [line as Frame] : []))
    return {
      ...{ talker, pid, frames },
      all: () => heard().filter(({ kind }) => kind !== undefined),
      order: (wanted: ClockEngineOrder) => talker.tell(wanted),
      tell: (wanted: ObserverOrder) => observer.tell(wanted),
      releases: () => heard().filter(({ priority }) => priority === 0),
      /** Resolves with the answer to this order. */
      async ask(wanted: ClockEngineOrder, holds: (line: Said) => boolean): Promise<Said> {
        const before = talker.said.length
        talker.tell(wanted)
        return talker.line('an answer', (line) => holds(line) && talker.said.indexOf(line) >= before)
      },
    }
  }
  type Node = Awaited<ReturnType<typeof start>>

  const order = (node: Node, interval: number, more: Partial<NonNullable<ClockEngineOrder['clock']>> = {}) =>
    node.ask({ clock: { slot: SLOT, unit: UNIT, index, interval, ...more } }, ({ ordered }) => ordered !== undefined)
  const read = (node: Node, slot = SLOT) => node.ask({ read: { slot } }, (line) => line.slot === slot)
  const framesOf = (node: Node, count: number, slot = SLOT) =>
    eventually(`${count} frames`, () => (node.frames(slot).length >= count ? node.frames(slot) : undefined), {
      sight: () => node.all(),
      every: 2,
    })
  const log = (node: Node): readonly Said[] => node.talker.stderr.map((line) => JSON.parse(line))
  const gapsOf = (frames: readonly Frame[]) => frames.slice(1).map(({ at }, i) => at - (frames[i]?.at ?? at))
  const longest = (values: readonly number[]): number => Math.max(...values)

  test.each(['ipv4', 'ipv6'] as const)(
    'frames leave once an interval over %s, at their times, and an engine at rest runs no JavaScript',
    async (family) => {
      const node = await start()
      const { now } = await order(node, 50, { family })
      const before = await read(node)
      const frames = await framesOf(node, 60)
      const { sent, turns, armed, stopped: ended, failed } = await read(node)
      expect([armed, ended, failed]).toEqual([true, false, 0])
      expect(turns, 'turns of the engine').toBe(before.turns)
      expect(Number(sent)).toBeGreaterThanOrEqual(60)
      const drift = frames.map(({ at }, i) => at - Number(now) - 50 * (i + 1))
      console.log(`lateness of 60 frames at 50 ms: ${drift.map((ms) => ms.toFixed(2)).join(' ')}`)
      expect(Math.min(...drift), 'ms, none too early').toBeGreaterThan(-1)
      judgeTime('ms, the latest of the frames', longest(drift), 25, 'docs/adr/0086')
      expect(frames.every(({ kind }) => kind === family)).toBe(true)
      expect(log(node)).toEqual([])
      expect(shownAddresses(here).some(({ local }) => local === VIP)).toBe(false)
    },
  )

  test('an order with an advance comes earlier in steps of a 50th of its interval, and then keeps its times', async () => {
    const node = await start()
    const { now } = await order(node, 200, { advance: 10 })
    const frames = await framesOf(node, 12)
    const early = frames.map(({ at }, i) => Number(now) + 200 * (i + 1) - at)
    console.log(`ms before the times without an advance: ${early.map((ms) => ms.toFixed(2)).join(' ')}`)
    for (const [i, ms] of early.entries())
      expect(ms, `ms by which frame ${i} is early`).toBeLessThan(Math.min(4 * i, 10) + 1)
    // A late thread makes frames late. One punctual frame of the last eight shows the times of the rounds.
    expect(longest(early.slice(4)), 'ms by which the rounds are early in the end').toBeGreaterThan(9)
  })

  test('a question goes out in front of each third advertisement', async () => {
    const node = await start()
    await order(node, 20, { questionEvery: 3 })
    await framesOf(node, 10)
    const kinds = node.all().slice(0, 9)
    expect(kinds.map(({ kind }) => kind)).toEqual([
      ...['question', 'ipv4', 'ipv4', 'ipv4'],
      ...['question', 'ipv4', 'ipv4', 'ipv4'],
      'question',
    ])
  })

  test('a round that is interrupted after its question never contradicts a later advertisement of the engine', async () => {
    const node = await start()
    // Holds the thread after each question, as a machine without a free CPU does. The engine waits 5 ms for a round.
    const delay = ['-e', 'trace=sendto', '-e', 'inject=sendto:delay_exit=12000']
    const tracer = spawn('strace', ['-qq', '-o', '/dev/null', '-p', clockThreadOf(node.talker.pid), ...delay], {
      stdio: 'ignore',
    })
    onTestFinished(() => void tracer.kill('SIGINT'))
    const demote = { slot: SLOT, unit: UNIT, index, interval: 20, questionEvery: 1, times: 80 }
    const { overtaken } = await node.ask({ demote }, ({ demoted }) => demoted !== undefined)
    await eventually('the last word', () => node.frames().some(({ word }) => word === 80), {
      sight: () => node.all().slice(-5),
    })
    const words = node.frames().map(({ word }) => word)
    expect(overtaken, 'words of the engine that did not wait for the end of a round').toBeGreaterThan(5)
    expect(words.filter((word, i) => word < (words[i - 1] ?? 0))).toEqual([])
  })

  test('after a withdrawal no frame leaves, and the slot can be armed again', async () => {
    const node = await start()
    for (let round = 1; round <= 20; round++) {
      await order(node, 20)
      await sleep(60 + 2 * round)
      const { busy, now } = await node.ask({ withdraw: { slot: SLOT } }, ({ withdrawn }) => withdrawn !== undefined)
      expect(busy).toBe(false)
      const { sent } = await read(node)
      await sleep(60)
      expect((await read(node)).sent, `rounds after withdrawal ${round}`).toBe(sent)
      expect(Number(node.frames().at(-1)?.at)).toBeLessThan(Number(now))
    }
    expect(node.frames().length).toBe(Number((await read(node)).sent))
    expect(node.frames().length).toBeGreaterThan(20)
  })

  test.each(['ipv4', 'ipv6'] as const)(
    'an unread advertisement of another router over %s stops the frames until the engine has read it',
    async (family) => {
      const node = await start()
      await order(node, 400, { family })
      await framesOf(node, 3)
      await node.ask({ listens: false, read: { slot: SLOT } }, ({ slot }) => slot === SLOT)
      const from = monotonicMs()
      node.tell({ advertise: { family, vrid: 51 } })
      await sleep(450)
      const unread = node.frames().filter(({ at }) => at > from + 5)
      expect(unread).toEqual([])
      node.order({ listens: true })
      const { now } = await node.talker.line('a proof', ({ heard }) => heard === 1)
      const next = await eventually('frames again', () => node.frames().find(({ at }) => at > from + 5), {
        sight: () => node.all().slice(-5),
        every: 2,
      })
      const { newsAt } = await read(node)
      expect(Number(newsAt)).toBeGreaterThan(from - 1)
      judgeTime('ms from the proof to the next frame', next.at - Number(now), 25, 'docs/adr/0086')
      expect(next.at - Number(now), 'not before the proof').toBeGreaterThan(-1)
      expect(node.releases()).toEqual([])
    },
  )

  test('news that the engine reads immediately costs no frame, and other VRIDs and own sources are no news', async () => {
    const node = await start()
    await order(node, 50)
    await framesOf(node, 3)
    for (let i = 0; i < 50; i++) {
      node.tell({ advertise: { family: 'ipv4', vrid: i % 2 === 0 ? 51 : 52 } })
      await sleep(13)
    }
    const gaps = gapsOf(await framesOf(node, 30))
    judgeTime('ms, the longest gap', longest(gaps), 90, 'docs/adr/0086')
    const { newsAt } = await read(node)
    const before = Number(newsAt)
    node.tell({ advertise: { family: 'ipv4', vrid: 52 } })
    node.tell({ advertise: { family: 'ipv6', vrid: 51 } })
    await sleep(50)
    expect((await read(node)).newsAt).toBe(before)
    expect((await read(node)).stopped).toBe(false)
  })

  test('a question is answered as soon as the engine has read its sockets, even if it gives no proof itself', async () => {
    const node = await start()
    await order(node, 200)
    await framesOf(node, 3)
    await node.ask({ proves: false, listens: false, read: { slot: SLOT } }, ({ slot }) => slot === SLOT)
    const from = monotonicMs()
    node.tell({ advertise: { family: 'ipv4', vrid: 51 } })
    // The question comes a millisecond later and finds an unread packet.
    await sleep(20)
    node.order({ listens: true })
    const next = await eventually('frames again', () => node.frames().find(({ at }) => at > from + 5), {
      sight: () => node.all().slice(-5),
    })
    judgeTime('ms from the news to the next frame', next.at - from, 240, 'docs/adr/0086')
  })

  test('news concerns each router of the sync group', async () => {
    const node = await start()
    await order(node, 300)
    await order(node, 300, { slot: SLOT + 1, vrid: 52 })
    await framesOf(node, 3, SLOT + 1)
    await node.ask({ listens: false, read: { slot: SLOT } }, ({ slot }) => slot === SLOT)
    const from = monotonicMs()
    node.tell({ advertise: { family: 'ipv4', vrid: 51 } })
    await sleep(350)
    expect(node.frames(SLOT + 1).filter(({ at }) => at > from + 5)).toEqual([])
    node.order({ listens: true })
    await eventually('frames again', () => node.frames(SLOT + 1).some(({ at }) => at > from + 5), {
      sight: () => node.all().slice(-5),
      every: 2,
    })
  })

  test('news that holds a round for half an interval wakes the engine, and ends with the cleanup plan', async () => {
    ip(here, `addr add ${VIP}/32 dev eth0`)
    const node = await start()
    await order(node, 100, { vip: VIP })
    await framesOf(node, 3)
    await node.ask({ listens: false, read: { slot: SLOT } }, ({ slot }) => slot === SLOT)
    const from = monotonicMs()
    node.tell({ advertise: { family: 'ipv4', vrid: 51 } })
    const { covered } = await node.talker.line('the timer', (line) => line.covered !== undefined)
    const last = node.frames().at(-1)?.at ?? 0
    judgeTime('ms from the last frame to the engine', Number(covered) - last, 150 + 25, 'docs/adr/0094')
    expect((await read(node)).stopped).toBe(true)
    await eventually('no VIP', () => !shownAddresses(here).some(({ local }) => local === VIP), {
      sight: () => log(node),
      every: 2,
    })
    judgeTime('ms from the last frame to the execution', monotonicMs() - last, 300 + 500, 'docs/adr/0015')
    await eventually('priority 0', () => node.releases().length === 1, { sight: () => node.all().slice(-5), every: 2 })
    expect(node.frames().filter(({ at }) => at > from + 5)).toEqual([])
  })

  test('an engine that stands still loses its lease: three intervals later the addresses go, priority 0 follows, and no frame after that', async () => {
    ip(here, `addr add ${VIP}/32 dev eth0`)
    const node = await start()
    await order(node, 100, { vip: VIP })
    await framesOf(node, 3)
    signal(node.pid, 'SIGSTOP')
    const at = monotonicMs()
    await eventually('no VIP', () => !shownAddresses(here).some(({ local }) => local === VIP), {
      sight: () => log(node),
      every: 2,
    })
    const took = monotonicMs() - at
    console.log(`gone ${took.toFixed(1)} ms after SIGSTOP; the lease is 600 to 1200 ms, the deadline 300 ms`)
    expect(took, 'ms, not before the question is old and two intervals are over').toBeGreaterThan(790)
    judgeTime('ms, at the deadline after the lease', took, 1200 + 300 + 200, 'docs/adr/0089')
    await eventually('priority 0', () => node.releases().length === 1, { sight: () => node.all().slice(-5), every: 2 })
    await sleep(300)
    const released = Number(node.releases()[0]?.at)
    expect(node.frames().filter((frame) => frame.at > released)).toEqual([])
    expect(longest(gapsOf(node.frames())), 'ms between frames before').toBeLessThan(200)
    expect(
      log(node).filter(({ msg }) => /^engine missed its deadline: removed 1 VIP, sent priority 0/.test(String(msg))),
    ).toHaveLength(1)
  })

  test('a busy engine that still turns within the lease keeps its frames', async () => {
    const node = await start()
    await order(node, 50)
    await framesOf(node, 3)
    for (let i = 0; i < 3; i++) {
      node.order({ block: 400 })
      await sleep(500)
    }
    const gaps = gapsOf(node.frames())
    expect(node.frames().length).toBeGreaterThan(28)
    judgeTime('ms, the longest gap', longest(gaps), 90, 'docs/adr/0086')
    expect((await read(node)).stopped).toBe(false)
  })

  test('after a guardian stood still, no late frame leaves, and the engine was woken meanwhile', async () => {
    const node = await start()
    await order(node, 100)
    const before = await framesOf(node, 5)
    const guardian = node.talker.pid
    signal(guardian, 'SIGSTOP')
    const at = monotonicMs()
    const { covered } = await node.talker.line('the timer', (line) => line.covered !== undefined)
    judgeTime(
      'ms from the last frame to the engine',
      Number(covered) - (before.at(-1)?.at ?? 0),
      250 + 150,
      'docs/adr/0086',
    )
    await sleep(1500)
    signal(guardian, 'SIGCONT')
    await sleep(300)
    expect(node.frames().filter((frame) => frame.at > at + 5)).toEqual([])
    // Another node has taken over long ago: priority 0 would mislead the LAN.
    expect(node.releases()).toEqual([])
    expect(await read(node)).toMatchObject({ stopped: true })
    expect(log(node).filter(({ msg }) => /^engine missed its deadline: removed/.test(String(msg)))).toMatchObject([
      { silent: 1 },
    ])
  })

  test('a killed engine ends the frames: the last one stands in front of priority 0', async () => {
    ip(here, `addr add ${VIP}/32 dev eth0`)
    const node = await start()
    await order(node, 10, { vip: VIP })
    await framesOf(node, 20)
    process.kill(node.pid, 'SIGKILL')
    await node.talker.ended
    await sleep(50)
    const release = Number(node.releases()[0]?.at)
    expect(node.releases()).toHaveLength(1)
    expect(node.frames().filter((frame) => frame.at > release)).toEqual([])
    expect(shownAddresses(here).some(({ local }) => local === VIP)).toBe(false)
  })

  test('a slot of a unit that is not guarded stops, and fires the timer', async () => {
    const node = await start()
    await order(node, 100)
    await framesOf(node, 2)
    expect(await node.ask({ stepDown: UNIT }, ({ steppedDown }) => steppedDown !== undefined)).toMatchObject({})
    const at = monotonicMs()
    const { covered } = await node.talker.line('the timer', (line) => line.covered !== undefined)
    judgeTime('ms, at the next round', Number(covered) - at, 100 + 25, 'docs/adr/0086')
    const count = node.frames().length
    await sleep(200)
    expect([node.frames().length, (await read(node)).stopped]).toEqual([count, true])
  })

  test('frames that the kernel refuses stop the slot, and fire the timer', async () => {
    const node = await start()
    await order(node, 50)
    await framesOf(node, 2)
    ip(here, 'link set eth0 down')
    const at = monotonicMs()
    try {
      const { covered } = await node.talker.line('the timer', (line) => line.covered !== undefined)
      judgeTime('ms, at the next round', Number(covered) - at, 50 + 100, 'docs/adr/0086')
      const { failed, stopped: ended } = await read(node)
      expect([Number(failed), ended]).toEqual([1, true])
    } finally {
      ip(here, 'link set eth0 up', 'address add fe80::1/64 dev eth0 nodad')
    }
  })

  test('255 slots of 100 ms keep their times', async () => {
    const node = await start()
    for (let i = 0; i < 255; i++)
      node.order({ clock: { slot: i, unit: i, index, interval: 100, vrid: i + 1, after: 50 + (i * 100) / 255 } })
    await node.talker.line('the last order', ({ ordered }) => ordered === 254, 30_000)
    const from = monotonicMs() + 200
    await sleep(3000)
    const end = monotonicMs()
    const gaps = Array.from({ length: 255 }, (_, i) => {
      const times = node.frames(i).flatMap(({ at }) => (at > from && at < end ? [at] : []))
      return longest([...times, end].map((at, each) => at - (times[each - 1] ?? from)))
    })
    console.log(`longest gap of 255 slots at 100 ms: ${longest(gaps).toFixed(1)} ms`)
    judgeTime('ms, the longest gap', longest(gaps), 200, 'docs/adr/0086')
  })

  test('malformed orders are refused with a reason, and the order before stays', async () => {
    const node = await start()
    await order(node, 50)
    await framesOf(node, 2)
    const head = (kind: number, slot: number, records: number) => {
      const bytes = Buffer.alloc(12)
      bytes.set([1, kind])
      bytes.writeUInt16LE(slot, 2)
      bytes.writeUInt32LE(records, 4)
      return bytes
    }
    const body = (change: (bytes: Buffer) => void = () => {}) => {
      const bytes = Buffer.alloc(56)
      bytes.writeUInt32LE(1, 0)
      bytes.writeUInt32LE(UNIT, 4)
      bytes.writeUInt32LE(index, 8)
      bytes.set([4, 51], 12)
      bytes.writeBigUInt64LE(50_000_000n, 16)
      change(bytes)
      return bytes
    }
    const packet = Buffer.alloc(56)
    packet.set([1, 0, 1, 0, 4], 0)
    packet.writeUInt32LE(8, 44)
    const record = (change: (bytes: Buffer) => void) => {
      const bytes = Buffer.from(packet)
      change(bytes)
      return bytes
    }
    const clock = (...parts: readonly Buffer[]) => Buffer.concat([head(8, SLOT, parts.length - 1), ...parts])
    const wrong: readonly (readonly [string, Buffer])[] = [
      ['its slot is out of range', Buffer.concat([head(8, 16_384, 1), body(), packet])],
      ['its slot is out of range', head(9, 65_535, 0)],
      ['bytes follow where none belong', Buffer.concat([head(9, SLOT, 0), packet])],
      ['it is shorter than its header', clock(body().subarray(0, 55))],
      [
        'a zero is missing',
        clock(
          body((bytes) => bytes.set([1], 14)),
          packet,
        ),
      ],
      [
        'its generation is out of range',
        clock(
          body((bytes) => bytes.writeUInt32LE(0, 0)),
          packet,
        ),
      ],
      [
        'its unit is out of range',
        clock(
          body((bytes) => bytes.writeUInt32LE(65_536, 4)),
          packet,
        ),
      ],
      [
        'its interface is out of range',
        clock(
          body((bytes) => bytes.writeUInt32LE(0, 8)),
          packet,
        ),
      ],
      [
        'its family is neither 4 nor 6',
        clock(
          body((bytes) => bytes.set([5], 12)),
          packet,
        ),
      ],
    ]
    const more: readonly (readonly [string, Buffer])[] = [
      [
        'its period is out of range',
        clock(
          body((bytes) => bytes.writeBigUInt64LE(999_999n, 16)),
          packet,
        ),
      ],
      [
        'its first round is out of range',
        clock(
          body((bytes) => bytes.fill(0xff, 24, 32)),
          packet,
        ),
      ],
      [
        'its advance is longer than its period',
        clock(
          body((bytes) => bytes.writeBigUInt64LE(50_000_001n, 32)),
          packet,
        ),
      ],
      ['no packet is sent with each round', clock(body())],
      [
        'no packet is sent with each round',
        clock(
          body(),
          record((bytes) => bytes.set([2], 2)),
        ),
      ],
      [
        'a record is sent with no round',
        clock(
          body(),
          record((bytes) => bytes.set([0], 2)),
        ),
      ],
      [
        'a packet is of another family than its order',
        clock(
          body(),
          record((bytes) => bytes.set([6], 4)),
        ),
      ],
      [
        'a packet reaches past the message',
        clock(
          body(),
          record((bytes) => bytes.writeUInt32LE(9, 44)),
        ),
      ],
      [
        'a record is neither packet nor frame',
        clock(
          body(),
          record((bytes) => bytes.set([3], 0)),
        ),
      ],
      ['bytes are left over', Buffer.concat([head(8, SLOT, 1), body(), packet, packet])],
    ]
    for (const part of [wrong, more]) {
      const before = log(node).length
      for (const [, bytes] of part) node.order({ write: bytes.toString('hex') })
      const reasons = () =>
        log(node)
          .slice(before)
          .map(({ reason }) => reason)
      await eventually('a line for each', () => reasons().length === part.length, { sight: reasons, every: 2 })
      expect(reasons()).toEqual(part.map(([reason]) => reason))
      // The guardian writes at most ten such lines a second.
      await sleep(1100)
    }
    const count = node.frames().length
    await framesOf(node, count + 3)
    expect((await read(node)).stopped).toBe(false)
  })

  test('an order of an older generation sends nothing, and a forgotten slot sends nothing', async () => {
    const node = await start()
    await order(node, 50)
    await framesOf(node, 2)
    node.order({ forget: { slot: SLOT } })
    await sleep(30)
    const count = node.frames().length
    await sleep(150)
    expect(node.frames().length).toBe(count)
    await order(node, 50)
    await framesOf(node, count + 3)
  })

  test('--realtime: frames at 10 ms keep their times beside the executor', async () => {
    const node = await start('--realtime=5')
    await order(node, 10)
    await framesOf(node, 1)
    await sleep(3000)
    // A slot that was late by an interval has stopped: its gap lasts until now.
    const now = { ...node.frames()[0], at: monotonicMs() } as Frame
    const { stopped: ended } = await read(node)
    const gaps = gapsOf(ended ? [...node.frames(), now] : node.frames())
    console.log(`longest gap of 3 s at 10 ms with --realtime: ${longest(gaps).toFixed(2)} ms`)
    judgeTime('ms, the longest gap', longest(gaps), 20, 'docs/adr/0086')
  })
})
