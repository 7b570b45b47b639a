/**
 * The number of calls of the addon for many addresses; each call is one sendmmsg. The addon is called once for all
 * netlink requests of a takeover, once for their removal, once for the announcements, and once for the advertisements.
 * The addon is a stand-in; test/netns/linux-network.test.ts uses the kernel.
 */
import { describe, expect, test } from 'vitest'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import type { AddressStep } from '../../../src/daemon/ports.ts'
import { applySteps } from '../../../src/linux/addresses.ts'
import type { KernelClock } from '../../../src/linux/clock.ts'
import { META, META_SIZE, type NativeAddon, type NativeSocket } from '../../../src/linux/native.ts'
import { openRequestSocket } from '../../../src/linux/netlink/socket.ts'
import { openFrameSocket } from '../../../src/linux/sockets/packet-socket.ts'
import { openAdvertisementSocket } from '../../../src/linux/sockets/vrrp-socket.ts'
import { address } from '../../../src/wire/address.ts'
import { macFromBytes } from '../../../src/wire/mac.ts'
import { millis } from '../../../src/wire/units.ts'

const AF_NETLINK = 16
const COUNT = 100
const VIPS = Array.from({ length: COUNT }, (_, i) => address(`192.0.2.${i + 1}`))
const clock: KernelClock = (() => {
  const now = () => millis(1_000)
  return { now, asleep: () => millis(0), pair: () => ({ monotonic: millis(1_000), realtime: millis(2_000) }) }
})()

/**
 * Returns an addon that answers each netlink request with `errno` at its next receive. `sends`: number of messages of
 * each call.
 */
function addonOnPaper(errno = 0) {
  const sends: number[] = []
  const received: number[] = []
  class Socket implements NativeSocket {
    readonly meta: Uint8Array
    readonly data: Uint8Array
    readonly #family: number
    readonly #size: number
    readonly #batch: number
    #answers: number[] = []

    constructor(family: number, _type: number, _protocol: number, batch: number, size: number) {
      this.#family = family
      this.#batch = batch
      this.#size = size
      this.meta = new Uint8Array(batch * META_SIZE)
      this.data = new Uint8Array(batch * size)
    }
    setOption(): void {}
    expect(): void {}
    expectedAt(): number {
      return 0
    }
    expectNothing(): void {}
    watchRepeated(): void {}
    readRepeated(): boolean {
      return false
    }
    endRepeated(): void {}
    dueRepeated(): void {}
    bind(): void {}
    connect(): number {
      return 0
    }
    attachFilter(): void {}
    start(): void {}
    stop(): void {}
    close(): void {}
    send(messages: readonly Uint8Array[]): Int32Array {
      sends.push(messages.length)
      if (this.#family === AF_NETLINK)
        for (const message of messages)
          this.#answers.push(new DataView(message.buffer, message.byteOffset).getUint32(8, true))
      return Int32Array.from(messages, ({ length }) => length)
    }
    receive(): number {
      const taken = this.#answers.splice(0, this.#batch)
      received.push(taken.length)
      for (const [i, sequence] of taken.entries()) this.#acknowledge(i, sequence)
      return taken.length
    }
    /** Adds an NLMSG_ERROR from port 0, which is the kernel. */
    #acknowledge(i: number, sequence: number): void {
      const meta = new DataView(this.meta.buffer, i * META_SIZE)
      meta.setUint32(META.length, 36, true)
      meta.setUint32(META.sourceLength, 12, true)
      meta.setUint16(META.source, AF_NETLINK, true)
      const data = new DataView(this.data.buffer, i * this.#size)
      data.setUint32(0, 36, true)
      data.setUint16(4, 2, true)
      data.setUint32(8, sequence, true)
      data.setInt32(16, -errno, true)
    }
  }
  const unused = (): never => {
    throw new Error('not part of this test')
  }
  class Timer {
    start = unused
    close = unused
    set = unused
    heardAt = unused
  }
  class End {
    start = unused
    close = unused
  }
  const native: NativeAddon = {
    NativeSocket: Socket,
    GuardianWords: class {
      constructor() {
        unused()
      }
      word = unused
      arm = unused
      withdraw = unused
      acknowledge = unused
      deadline = unused
      beat = unused
      executions = unused
      hungUp = unused
      slotArm = unused
      slotWithdraw = unused
      slotRead = unused
      answer = unused
      prove = unused
    },
    ProcessEnd: End,
    ChannelEnd: End,
    NativeTimer: Timer,
    BeatWatch: Timer,
    clocks: unused,
    interfaceIndex: unused,
    keepLast: unused,
  }
  return { native, sends, received }
}

const steps = (action: AddressStep['action']): readonly AddressStep[] =>
  VIPS.map((vip) => ({ action, address: vip, prefixLength: 32, interfaceIndex: 2 }))

const place = { interfaceIndex: 2, interfaceName: 'eth0', family: 'ipv4' } as const
const ignore = (): void => {}

describe('100 addresses', () => {
  test.each(['add', 'remove'] as const)(
    '%s sends all requests in one call and reads the answers in batches',
    (action) => {
      const { native, received, sends } = addonOnPaper()
      const outcomes = applySteps(openRequestSocket(native, clock), steps(action), () => 'eth0')
      expect(outcomes.filter(({ ok }) => ok)).toHaveLength(COUNT)
      expect(sends, 'messages of each call').toEqual([COUNT])
      expect(received.length, 'calls for the answers').toBeLessThanOrEqual(COUNT / 8 + 1)
    },
  )

  test.each([
    ['eth0', '"eth0"'],
    [undefined, 'interface 2'],
  ])('a refusal by the kernel on %s is named without a request for each failed step', (name, label) => {
    const EACCES = 13
    const { native, sends } = addonOnPaper(EACCES)
    const outcomes = applySteps(openRequestSocket(native, clock), steps('add'), () => name)
    expect(sends, 'messages of each call').toEqual([COUNT])
    const messages = outcomes.map((outcome) => (outcome.ok ? 'done' : outcome.failure.message))
    expect(messages.every((message) => message.includes(`/32 to ${label}: `))).toBe(true)
    expect(messages).toHaveLength(COUNT)
  })

  test('the first announcements of all addresses leave in one call', () => {
    const { native, sends } = addonOnPaper()
    const socket = openFrameSocket(native, clock, { ...place, hears: 'nothing', onFailure: ignore })
    if ('code' in socket) throw new Error(socket.message)
    const mac = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 1))
    expect(socket.send(VIPS.map((vip) => gratuitousArp({ address: vip, mac }))).every(({ ok }) => ok)).toBe(true)
    expect(sends).toEqual([COUNT])
  })

  test('the advertisements of 100 routers leave in one call', () => {
    const { native, sends } = addonOnPaper()
    const [group, source] = [address('224.0.0.18'), address('192.0.2.250')]
    const options = { ...place, source, group, onReadable: ignore, onFailure: ignore }
    const socket = openAdvertisementSocket(native, clock, options)
    if ('code' in socket) throw new Error(socket.message)
    socket.send(VIPS.map(() => ({ destination: group, bytes: new Uint8Array(12) })))
    expect(sends).toEqual([COUNT])
  })
})
