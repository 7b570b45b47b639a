/**
 * An engine that only holds addresses under its guardian. The engine arms a cleanup plan with a shared word, adds the
 * addresses, and reports an advertisement at every interval. Uses the ports of src/linux as the daemon does. Orders
 * arrive line by line on standard input. This file does not know when and by which process the engine is stopped.
 */
import { createInterface } from 'node:readline'
import type { AddressStep, CleanupPlan } from '../../src/daemon/ports.ts'
import { openClock } from '../../src/linux/clock.ts'
import { openGuardian } from '../../src/linux/guardian/guardian.ts'
import { openGuardianWords } from '../../src/linux/guardian/guardian-words.ts'
import { loadNative } from '../../src/linux/native.ts'
import { openNetwork } from '../../src/linux/network.ts'
import { address } from '../../src/wire/address.ts'
import { millis } from '../../src/wire/units.ts'

export type Order = {
  /** Hold these addresses from now on. */
  readonly take?: {
    readonly index: number
    readonly vips: readonly string[]
    readonly interval: number
    readonly lifetime?: number
    readonly grace?: number
  }
  /** Fill the channel until it accepts no more messages; further messages wait in the engine. */
  readonly fill?: boolean
  readonly stepDown?: boolean
  readonly withdraw?: boolean
  readonly acknowledge?: boolean
  /** Demote the router: the deadline is then this many ms from now, and no further advertisement follows. */
  readonly nearer?: number
  /** Measure the duration of one report this many times. */
  readonly cost?: number
}

const UNIT = 9
const native = loadNative()
const clock = openClock(native)
const network = openNetwork(native, clock)
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
const fault = ({ message }: { message: string }): void => say({ fault: message })
const guardian = openGuardian(undefined, fault, openGuardianWords(native, undefined, fault))

let beating: NodeJS.Timeout | undefined
let steps: readonly AddressStep[] = []
let current: CleanupPlan | undefined
let told = false
/** Time of the last reported advertisement, in ms. */
let sentAt = 0
/** Longest time in ms between two reports. */
let gap = 0

function sent(interval: number): void {
  const now = clock.now()
  gap = Math.max(gap, now - sentAt)
  sentAt = now
  guardian.sent(UNIT, millis(now + 3 * interval))
}

function silence(): void {
  const silent = guardian.beat(clock.now())?.silent
  if (told || (silent !== undefined && silent < 1000)) return
  told = true
  say({ guardian: silent === undefined ? 'gone' : 'silent', now: clock.now() })
}

function take({ index, vips, interval, lifetime, grace = interval }: NonNullable<Order['take']>): void {
  const wanted = vips.map((text) => ({
    interfaceIndex: index,
    address: address(text),
    prefixLength: text.includes(':') ? 128 : 32,
  }))
  const datagram = { destination: address('224.0.0.18'), bytes: Uint8Array.of(0x31, 51, 0, 1, 0, 100) }
  const plan: CleanupPlan = {
    unit: UNIT,
    name: 'api',
    remove: wanted,
    packets: [{ family: 'ipv4', interfaceIndex: index, source: address('198.51.100.1'), datagrams: [datagram] }],
    guard: { renew: wanted.map((one) => ({ ...one, lifetime })), grace: millis(grace) },
  }
  current = plan
  if (!guardian.arm(plan)) return say({ taken: false })
  sentAt = clock.now()
  sent(interval)
  steps = wanted.map((one) => ({ action: 'add', ...one, lifetime }))
  const ok = network.apply(steps, () => undefined).every((outcome) => outcome.ok)
  clearInterval(beating)
  beating = setInterval(() => {
    silence()
    const state = guardian.state(UNIT)
    if (state === 'armed') return sent(interval)
    clearInterval(beating)
    say({ state, now: clock.now(), late: clock.now() - sentAt, gap })
  }, interval)
  say({ taken: ok, guarded: guardian.guarded })
}

function withdraw(): void {
  clearInterval(beating)
  const withdrawn = guardian.stepDown(UNIT)
  const outcomes = network.apply(
    steps.map((step) => ({ ...step, action: 'remove' })),
    () => undefined,
  )
  guardian.withdraw(UNIT)
  say({ withdrawn, removed: outcomes.every(({ ok }) => ok) })
}

function cost(count: number): void {
  const began = clock.now()
  for (let i = 0; i < count; i++) guardian.sent(UNIT, millis(clock.now() + 1000))
  say({ cost: (clock.now() - began) / count })
}

/** Reports a fault and ends the engine: its parent has ended, or its guardian was killed. */
function end(): never {
  guardian.beat(clock.now())
  process.exit(0)
}

createInterface({ input: process.stdin })
  .on('close', end)
  .on('line', (text) => {
    const order: Order = JSON.parse(text)
    if (order.take !== undefined) take(order.take)
    if (order.fill && current !== undefined) {
      while (guardian.armed) guardian.arm(current)
      say({ filled: true })
    }
    if (order.stepDown) say({ steppedDown: guardian.stepDown(UNIT) })
    if (order.withdraw) withdraw()
    if (order.acknowledge) say({ acknowledged: guardian.acknowledge(UNIT), state: guardian.state(UNIT) })
    if (order.cost !== undefined) cost(order.cost)
    if (order.nearer !== undefined) {
      clearInterval(beating)
      guardian.sent(UNIT, millis(clock.now() + order.nearer))
      say({ nearer: clock.now() + order.nearer })
    }
  })
say({ ready: true, pid: process.pid })
