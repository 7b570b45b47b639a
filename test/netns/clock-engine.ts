/**
 * An engine that orders frames from the guardian's clock: it arms a cleanup plan and slots, opens the VRRP sockets that it
 * answers for, and follows orders on stdin. Uses the addon and the encoders of linux/. Decided by the test alone: when
 * the engine reads its sockets, and when it says something else.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { CleanupPlan } from '../../src/daemon/ports.ts'
import { openClock } from '../../src/linux/clock.ts'
import { clockMessage, forgetMessage } from '../../src/linux/guardian/clock-message.ts'
import { armMessage } from '../../src/linux/guardian/plan-message.ts'
import { loadNative, type NativeSocket, SLOT, SLOT_SIZE, WORD } from '../../src/linux/native.ts'
import { address, addressBytes } from '../../src/wire/address.ts'
import { millis } from '../../src/wire/units.ts'

export type ClockEngineOrder = {
  readonly clock?: {
    readonly slot: number
    readonly unit: number
    readonly index: number
    readonly interval: number
    readonly family?: 'ipv4' | 'ipv6'
    readonly vrid?: number
    /** Time until the first round; absent = one interval. */
    readonly after?: number
    /** Milliseconds by which the rounds come earlier in the end; absent = 0. */
    readonly advance?: number
    /** Removed by the cleanup plan. */
    readonly vip?: string
    readonly grace?: number
    /** A frame in front of each k-th advertisement. */
    readonly questionEvery?: number
    /** Number in the frames of this order; absent = 0. */
    readonly word?: number
  }
  /** Changes the word of an order so many times. The engine sends each new word first, as after a demotion. */
  readonly demote?: NonNullable<ClockEngineOrder['clock']> & { readonly times: number }
  readonly withdraw?: { readonly slot: number }
  readonly forget?: { readonly slot: number }
  readonly read?: { readonly slot: number }
  /** Blocks the event loop for so many milliseconds. */
  readonly block?: number
  /** Bytes for the channel, as hexadecimal text. */
  readonly write?: string
  /** Whether the engine reads its sockets. If this field is absent at the start, the engine does so. */
  readonly listens?: boolean
  /** Whether the engine proves that it has read its sockets. If this field is absent at the start, the engine does so. */
  readonly proves?: boolean
  /** Ends the protection of a unit, as a router does that steps down. */
  readonly stepDown?: number
}

const SOURCES = { ipv4: address('198.51.100.1'), ipv6: address('fe80::1') }
const GROUPS = { ipv4: address('224.0.0.18'), ipv6: address('ff02::12') }
const native = loadNative()
const { now } = openClock(native)
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
const channel = Number(process.env.HOLDFAST_GUARDIAN_FD)
const [ask = -1, cover = -1] = (process.env.HOLDFAST_GUARDIAN_CLOCK ?? '').split(',').map(Number)
const words = new native.GuardianWords(Number(process.env.HOLDFAST_GUARDIAN_WORDS))

const int = (value: number): Uint8Array => new Uint8Array(Int32Array.of(value).buffer)

/** A raw socket as the engine has one: protocol 112, a member of the group on eth0. */
function open(family: number, index: number): NativeSocket {
  const socket = new native.NativeSocket(family, 3, 112, 16, 2048)
  if (family === 2) {
    const member = new Uint8Array(12)
    member.set(addressBytes(GROUPS.ipv4))
    new DataView(member.buffer).setInt32(8, index, true)
    socket.setOption(0, 35, member) // IP_ADD_MEMBERSHIP
    socket.setOption(0, 49, int(0)) // IP_MULTICAST_ALL
    socket.setOption(0, 34, int(0)) // IP_MULTICAST_LOOP
  } else {
    const member = new Uint8Array(20)
    member.set(addressBytes(GROUPS.ipv6))
    new DataView(member.buffer).setUint32(16, index, true)
    socket.setOption(41, 20, member) // IPV6_JOIN_GROUP
  }
  return socket
}

const sockets: NativeSocket[] = []
/** Units of the slots. */
const units = new Map<number, number>()
let heard = 0
let proves = true
let turns = 0

function listen(): void {
  for (const socket of sockets)
    socket.start(
      () => {
        turns++
        for (let count = socket.receive(); count > 0; count = socket.receive()) heard += count
        say({ heard, proven: proves && words.prove(), now: now() })
      },
      () => undefined,
    )
}

function prepare(index: number): void {
  if (sockets.length > 0) return
  sockets.push(open(2, index), open(10, index))
  listen()
  words.answer(ask, sockets)
}

const coverTimer = new native.NativeTimer(cover)
coverTimer.start(
  () => say({ covered: now() }),
  () => undefined,
)

function read(slot: number): object {
  const out = new Float64Array(SLOT_SIZE)
  words.slotRead(slot, out)
  const word = out[SLOT.word] ?? 0
  return {
    sentAt: out[SLOT.sentAt],
    newsAt: out[SLOT.newsAt],
    sent: out[SLOT.sent],
    failed: out[SLOT.failed],
    latest: out[SLOT.latest],
    stopped: (word & WORD.stopped) !== 0,
    armed: (word & WORD.armed) !== 0,
  }
}

/** A broadcast ARP question of the experimental EtherType 0x88b5, which names its slot. */
function question(slot: number): Uint8Array {
  const frame = new Uint8Array(60).fill(0xff, 0, 6)
  frame.set([2, 0, 0, 0, 0, 1, 0x88, 0xb5], 6)
  new DataView(frame.buffer).setUint16(14, slot)
  return frame
}

const armed = new Set<number>()

function packetOf({ slot, vrid = 51, word = 0 }: NonNullable<ClockEngineOrder['clock']>, priority: number): Uint8Array {
  return Uint8Array.of(0x31, vrid, priority, 1, 0, 100, slot >> 8, slot & 255, word >> 8, word & 255)
}

function order(wanted: NonNullable<ClockEngineOrder['clock']>): void {
  const { slot, unit, index, family = 'ipv4', vip, grace = wanted.interval, questionEvery } = wanted
  prepare(index)
  const { vrid = 51 } = wanted
  const packet = (priority: number) => packetOf(wanted, priority)
  if (!armed.has(unit)) {
    armed.add(unit)
    const remove =
      vip === undefined
        ? []
        : [{ interfaceIndex: index, address: address(vip), prefixLength: vip.includes(':') ? 128 : 32 }]
    const datagrams = [{ destination: GROUPS[family], bytes: packet(0) }]
    const plan: CleanupPlan = {
      unit,
      name: `unit ${unit}`,
      remove,
      packets: [{ family, interfaceIndex: index, source: SOURCES[family], datagrams }],
      guard: { renew: [], grace: millis(grace) },
    }
    const generation = words.arm(unit, 5)
    // The clock thread writes the deadline with its first round. A busy machine may take a while until then.
    words.deadline(unit, now() + 3 * wanted.interval + 2000)
    writeSync(channel, armMessage(plan, generation))
  }
  const sentAt = now()
  const generation = words.slotArm(slot, unit, sentAt)
  const frame = questionEvery === undefined ? [] : [{ frame: question(slot), every: questionEvery }]
  const message = clockMessage(
    {
      ...{ slot, unit, family, vrid, interfaceIndex: index, source: SOURCES[family], period: millis(wanted.interval) },
      first: millis(sentAt + (wanted.after ?? wanted.interval)),
      advance: millis(wanted.advance ?? 0),
      records: [...frame, { datagram: { destination: GROUPS[family], bytes: packet(100) } }],
    },
    generation,
  )
  units.set(slot, unit)
  writeSync(channel, message)
  words.prove()
  say({ ordered: slot, generation, now: sentAt })
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function demote({ times, ...wanted }: NonNullable<ClockEngineOrder['demote']>): Promise<void> {
  const { index, interval, slot } = wanted
  const group = new Uint8Array(16)
  group.set([2, 0, 0, 0, ...addressBytes(GROUPS.ipv4)])
  let overtaken = 0
  order(wanted)
  const member = new Uint8Array(12)
  new DataView(member.buffer).setInt32(8, index, true)
  sockets[0]?.setOption(0, 32, member) // IP_MULTICAST_IF
  const isBusy = () => (words.slotWithdraw(slot, 0) & WORD.busy) !== 0
  for (let word = 1; word <= times; word++) {
    await pause(Math.random() * 2.5 * interval)
    const isLate = (words.slotWithdraw(slot, 5) & WORD.busy) !== 0
    const speak = () => sockets[0]?.send([packetOf({ ...wanted, word }, 100)], [group])
    speak()
    if (isLate) {
      overtaken++
      while (isBusy()) await pause(1)
      speak()
    }
    words.deadline(wanted.unit, now() + 3 * interval + 2000)
    order({ ...wanted, word })
  }
  words.slotWithdraw(slot, 5)
  say({ demoted: times, overtaken })
}

function block(ms: number): void {
  const until = now() + ms
  while (now() < until);
}

writeSync(channel, Buffer.from('010600000000000000000000', 'hex'))
setInterval(() => words.beat(now()), 250).unref()
createInterface({ input: process.stdin })
  .on('close', () => process.exit(0))
  .on('line', (text) => {
    const wanted: ClockEngineOrder = JSON.parse(text)
    if (wanted.clock !== undefined) order(wanted.clock)
    if (wanted.demote !== undefined) void demote(wanted.demote)
    if (wanted.write !== undefined) say({ wrote: writeSync(channel, Buffer.from(wanted.write, 'hex')) })
    if (wanted.block !== undefined) block(wanted.block)
    proves = wanted.proves ?? proves
    if (wanted.listens === true) listen()
    if (wanted.listens === false) for (const socket of sockets) socket.stop()
    if (wanted.stepDown !== undefined) say({ steppedDown: words.withdraw(wanted.stepDown, 5) })
    // A unit without frames has no deadline here: the tests of deadlines are in guardian-deadline.test.ts.
    const silent = units.get(wanted.forget?.slot ?? wanted.withdraw?.slot ?? -1)
    if (wanted.forget !== undefined) {
      writeSync(channel, forgetMessage(wanted.forget.slot))
      if (silent !== undefined) words.deadline(silent, 0)
    }
    if (wanted.withdraw !== undefined) {
      const word = words.slotWithdraw(wanted.withdraw.slot, 5)
      if (silent !== undefined) words.deadline(silent, 0)
      say({ withdrawn: wanted.withdraw.slot, busy: (word & WORD.busy) !== 0, now: now() })
    }
    if (wanted.read !== undefined) say({ slot: wanted.read.slot, ...read(wanted.read.slot), turns, now: now() })
  })
say({ ready: true, pid: process.pid })
