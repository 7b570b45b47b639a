/**
 * The order of word, deadline and message, and the limits of a word. A file stands in for the shared memory (the addon
 * maps both the same way), and the test reads and writes it like the guardian, from the layout in guardian-words.h. A
 * FIFO stands in for the channel.
 */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CleanupPlan } from '../../../src/daemon/ports.ts'
import { type Guardian, openGuardian } from '../../../src/linux/guardian/guardian.ts'
import type { GuardianFault } from '../../../src/linux/guardian/guardian-channel.ts'
import { openGuardianWords } from '../../../src/linux/guardian/guardian-words.ts'
import { armMessage, lookMessage, withdrawMessage } from '../../../src/linux/guardian/plan-message.ts'
import { loadNative } from '../../../src/linux/native.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'

const SIZE = 64 + 16 * 65_536 + 64 * 16_384
const MAGIC = 0x33574648
const UNIT = 7
const [ARMED, BUSY, EXECUTED] = [1, 2, 4]
const VIP = { interfaceIndex: 2, address: address('192.0.2.10'), prefixLength: 32 }
const WILL: CleanupPlan = {
  unit: UNIT,
  name: 'api',
  remove: [VIP],
  packets: [],
  guard: { renew: [{ ...VIP, lifetime: 4 }], grace: millis(600) },
}

let directory = ''
let memory = -1
let reader = -1
let guardian: Guardian
let faults: GuardianFault[] = []

function file(name: string, size: number, magic: number): number {
  const fd = openSync(join(directory, name), 'w+')
  ftruncateSync(fd, size)
  const head = Buffer.alloc(8)
  head.writeUInt32LE(magic, 0)
  head.writeUInt32LE(65_536, 4)
  writeSync(fd, head, 0, 8, 0)
  return fd
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-words-'))
  execFileSync('mkfifo', [join(directory, 'fifo')])
  reader = openSync(join(directory, 'fifo'), constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(join(directory, 'fifo'), constants.O_WRONLY | constants.O_NONBLOCK)
  memory = file('words', SIZE, MAGIC)
  faults = []
  const words = openGuardianWords(loadNative(), String(openSync(join(directory, 'words'), 'r+')), (one) =>
    faults.push(one),
  )
  guardian = openGuardian(String(writer), (one) => faults.push(one), words)
})
afterEach(() => {
  guardian.release()
  for (const fd of [memory, reader]) if (fd >= 0) closeSync(fd)
  rmSync(directory, { recursive: true })
})

function at(offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  readSync(memory, bytes, 0, length, offset)
  return bytes
}
const word = (): number => at(64 + 16 * UNIT, 4).readUInt32LE()
const deadline = (): number => Number(at(64 + 16 * UNIT + 8, 8).readBigUInt64LE()) / 1e6
function set(value: number): void {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  writeSync(memory, bytes, 0, 4, 64 + 16 * UNIT)
}
function channel(): string {
  const buffer = Buffer.alloc(1 << 16)
  try {
    return buffer.subarray(0, readSync(reader, buffer)).toString('hex')
  } catch {
    return '' // EAGAIN: nothing waits
  }
}
const hex = (...messages: readonly Uint8Array[]) => Buffer.concat(messages).toString('hex')

test('an armed word belongs to the plan that follows, and each plan has another generation', () => {
  expect([guardian.arm(WILL), word(), channel()]).toEqual([true, (1 << 8) | ARMED, hex(armMessage(WILL, 1))])
  expect([guardian.arm(WILL), word(), channel()]).toEqual([true, (2 << 8) | ARMED, hex(armMessage(WILL, 2))])
  expect([guardian.state(UNIT), guardian.guarded]).toEqual(['armed', true])
})

test('generations wrap to 1, because 0 means none', () => {
  set((0xffffff << 8) >>> 0)
  guardian.arm(WILL)
  expect(word()).toBe((1 << 8) | ARMED)
})

test('a deadline is one store, and only the first and a nearer one send a message', () => {
  guardian.arm(WILL)
  channel()
  guardian.sent(UNIT, millis(5000.25))
  expect([deadline(), channel()]).toEqual([5000.25, hex(lookMessage(UNIT))])
  guardian.sent(UNIT, millis(6000))
  expect([deadline(), channel()]).toEqual([6000, ''])
  guardian.sent(UNIT, millis(5500))
  expect([deadline(), channel()]).toEqual([5500, hex(lookMessage(UNIT))])
})

test('a deadline survives another plan of an armed unit, and ends with a withdrawal', () => {
  guardian.arm(WILL)
  guardian.sent(UNIT, millis(5000))
  guardian.arm(WILL)
  expect(deadline()).toBe(5000)
  guardian.withdraw(UNIT)
  guardian.arm(WILL)
  expect(deadline()).toBe(0)
})

test('stepping down changes only the word, and the message follows when all addresses are removed', () => {
  guardian.arm(WILL)
  channel()
  expect(guardian.stepDown(UNIT)).toEqual({ executed: false, late: false })
  expect([word(), channel(), guardian.state(UNIT)]).toEqual([1 << 8, '', 'withdrawn'])
  guardian.withdraw(UNIT)
  expect([word(), channel(), guardian.state(UNIT)]).toEqual([1 << 8, hex(withdrawMessage(UNIT)), 'withdrawn'])
})

test('an executed unit cannot be armed before it is acknowledged', () => {
  guardian.arm(WILL)
  channel()
  set((1 << 8) | EXECUTED)
  expect([guardian.state(UNIT), guardian.arm(WILL), channel()]).toEqual(['executed', false, ''])
  expect(word()).toBe((1 << 8) | EXECUTED)
  expect([guardian.acknowledge(UNIT), guardian.state(UNIT), guardian.arm(WILL)]).toEqual([true, 'withdrawn', true])
})

test('an execution under way cannot be acknowledged', () => {
  guardian.arm(WILL)
  set((1 << 8) | EXECUTED | BUSY)
  expect([guardian.acknowledge(UNIT), guardian.state(UNIT)]).toEqual([false, 'executed'])
})

test('stepping down after an execution reports and acknowledges it', () => {
  guardian.arm(WILL)
  set((1 << 8) | EXECUTED)
  expect(guardian.stepDown(UNIT)).toEqual({ executed: true, late: false })
  expect(guardian.arm(WILL)).toBe(true)
})

test("a busy word is awaited for some milliseconds only, and keeps the guardian's bit", () => {
  guardian.arm(WILL)
  set((1 << 8) | ARMED | BUSY)
  const began = performance.now()
  expect(guardian.stepDown(UNIT)).toEqual({ executed: false, late: true })
  expect(performance.now() - began, 'ms').toBeGreaterThanOrEqual(4.9)
  expect(performance.now() - began, 'ms').toBeLessThan(500)
  expect(word()).toBe((1 << 8) | BUSY)
  guardian.arm(WILL)
  expect(word()).toBe((2 << 8) | ARMED | BUSY)
})

test('a plan without a guard ends the guard of the plan before', () => {
  guardian.arm(WILL)
  channel()
  const plain: CleanupPlan = { ...WILL, guard: undefined }
  expect([guardian.arm(plain), word() & ARMED, channel()]).toEqual([true, 0, hex(armMessage(plain))])
})

test('a beat writes ours and returns how long the other side was silent', () => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(40_000_000_000n)
  writeSync(memory, bytes, 0, 8, 16)
  // A channel that can be read, like the real channel. The FIFO of the other tests cannot be read.
  const channel = openSync(join(directory, 'fifo'), constants.O_RDWR | constants.O_NONBLOCK)
  const words = openGuardianWords(loadNative(), String(openSync(join(directory, 'words'), 'r+')))
  const both = openGuardian(String(channel), (one) => faults.push(one), words)
  expect([both.beat(millis(41_500)), faults]).toEqual([{ silent: 1500, isChanging: false }, []])
  expect(at(8, 8).readBigUInt64LE()).toBe(41_500_000_000n)
  both.arm(WILL)
  set(word() | BUSY)
  expect(both.beat(millis(41_500)), 'in a change of addresses').toEqual({ silent: 1500, isChanging: true })
  expect(both.beat(millis(40_100)), 'which is no news yet').toEqual({ silent: 100, isChanging: false })
  set(word() & ~BUSY)
  expect(both.beat(millis(41_500)), 'silent for another reason').toEqual({ silent: 1500, isChanging: false })
  both.release()
})

test('a dead guardian has no beat, no guard, and no word that is awaited', () => {
  guardian.arm(WILL)
  set((1 << 8) | BUSY)
  closeSync(reader)
  reader = -1
  guardian.withdraw(UNIT)
  expect(faults).toHaveLength(1)
  expect([guardian.beat(millis(1)), guardian.guarded]).toEqual([undefined, false])
  // A single call would wait for 5 ms, and the kernel may take the CPU away from the test for longer.
  const took = Array.from({ length: 5 }, () => {
    const began = performance.now()
    guardian.withdraw(UNIT)
    return performance.now() - began
  })
  expect(Math.min(...took), `ms, the shortest of ${took}`).toBeLessThan(4)
})

test('without shared memory a plan has no guard and covers the death of the engine alone', () => {
  const bare = openGuardian('none', (one) => faults.push(one))
  expect([bare.guarded, bare.arm(WILL), bare.state(UNIT), bare.beat(millis(1))]).toEqual([
    false,
    true,
    'armed',
    undefined,
  ])
  expect([bare.stepDown(UNIT), bare.state(UNIT)]).toEqual([{ executed: false, late: false }, 'withdrawn'])
})

test.each([
  ['too small', SIZE - 1, MAGIC, /EINVAL/],
  ['of another layout', SIZE, MAGIC + 1, /EPROTO/],
])('memory that is %s is refused with a reason', (_, size, magic, reason) => {
  const fd = file('other', size, magic)
  expect(openGuardianWords(loadNative(), String(fd), (one) => faults.push(one))).toBeUndefined()
  expect(faults).toEqual([{ event: 'guardianMemoryNotShared', message: expect.stringMatching(reason) }])
  closeSync(fd)
})

test('child processes do not inherit the descriptor', () => {
  const fd = openSync(join(directory, 'words'), 'r+')
  expect(openGuardianWords(loadNative(), String(fd))).toBeDefined()
  expect(() => fstatSync(fd)).toThrow('EBADF')
})

test('a missing descriptor means no guardian, and is no fault', () => {
  expect([openGuardianWords(loadNative(), undefined, (one) => faults.push(one)), faults]).toEqual([undefined, []])
})
