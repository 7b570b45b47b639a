/**
 * When cleanup plans count as armed. A FIFO stands in for the socketpair: it is non-blocking, can be full, and can lose
 * its reader. test/netns shows that the guardian understands the messages.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CleanupPlan } from '../../../src/daemon/ports.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { type Guardian, openGuardian } from '../../../src/linux/guardian/guardian.ts'
import type { GuardianFault } from '../../../src/linux/guardian/guardian-channel.ts'
import { armMessage, LARGEST_MESSAGE, readyMessage, withdrawMessage } from '../../../src/linux/guardian/plan-message.ts'
import { loadNative } from '../../../src/linux/native.ts'
import { address } from '../../../src/wire/address.ts'

const planOf = (unit: number, host = 1): CleanupPlan => ({
  unit,
  name: 'api',
  remove: [{ interfaceIndex: 2, address: address(`192.0.2.${host}`), prefixLength: 32 }],
  packets: [],
})
const hex = (...messages: Uint8Array[]) => Buffer.concat(messages).toString('hex')

let directory = ''
let reader = -1
let writer = -1
let opened: Guardian | undefined
let faults: GuardianFault[] = []

function open(): Guardian {
  opened = openGuardian(String(writer), (fault) => faults.push(fault))
  return opened
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-guardian-'))
  const path = join(directory, 'fifo')
  execFileSync('mkfifo', [path])
  reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
})
afterEach(() => {
  if (opened === undefined) closeSync(writer)
  opened?.release()
  opened = undefined
  faults = []
  if (reader >= 0) closeSync(reader)
  rmSync(directory, { recursive: true })
})

function readAll(): Buffer {
  const buffer = Buffer.alloc(1 << 17)
  return buffer.subarray(0, readSync(reader, buffer))
}

test('an engine without a guardian arms nothing', () => {
  for (const descriptor of ['', 'x', '-1']) {
    const port = openGuardian(descriptor)
    port.arm(planOf(1))
    port.withdraw(1)
    expect(port.armed).toBe(false)
  }
})

test('arm and withdraw are one message each', () => {
  const port = open()
  port.arm(planOf(1))
  port.withdraw(1)
  expect(hex(readAll())).toBe(hex(armMessage(planOf(1)), withdrawMessage(1)))
  expect(port.armed).toBe(true)
})

test('ready is one message', () => {
  open().ready()
  expect(hex(readAll())).toBe(hex(readyMessage()))
})

test('ready waits for room in a full channel and is sent after the plans', async () => {
  const port = open()
  for (let i = 0; i < 5000 && port.armed; i++) port.arm(planOf(1))
  port.arm(planOf(1, 99))
  port.ready()
  readAll()
  const state = () => ({ armed: port.armed, faults })
  await eventually('the plan to be armed', () => port.armed, { sight: state, within: 1_000 })
  expect(hex(readAll())).toBe(hex(armMessage(planOf(1, 99)), readyMessage()))
})

test('ready without a guardian, or with a dead one, does nothing', () => {
  openGuardian('none').ready()
  const port = open()
  closeSync(reader)
  reader = -1
  port.ready()
  port.ready()
  expect(faults).toEqual([{ event: 'guardianDied', message: expect.stringContaining('Guardian died') }])
})

test('a dead guardian is reported once', () => {
  const port = open()
  closeSync(reader)
  reader = -1
  port.arm(planOf(1))
  expect(port.armed).toBe(false)
  port.arm(planOf(2))
  expect(faults).toEqual([{ event: 'guardianDied', message: expect.stringContaining('Guardian died') }])
})

test('release leaves armed plans to the guardian and sends nothing more', () => {
  const port = open()
  port.arm(planOf(1))
  port.release()
  port.release()
  port.withdraw(1)
  expect([port.armed, hex(readAll()), readSync(reader, Buffer.alloc(1)), faults]).toEqual([
    false,
    hex(armMessage(planOf(1))),
    0,
    [],
  ])
})

test('a full channel is retried without another call', async () => {
  const port = open()
  for (let i = 0; i < 5000 && port.armed; i++) port.arm(planOf(1))
  port.arm(planOf(1, 99))
  expect(port.armed).toBe(false)
  readAll()
  const state = () => ({ armed: port.armed, faults })
  await eventually('the plan to be armed', () => port.armed, { sight: state, within: 1_000 })
  expect(hex(readAll())).toBe(hex(armMessage(planOf(1, 99))))
})

test('a plan that is too large is reported once, others still work, and a smaller one replaces it', () => {
  const port = open()
  const datagram = { destination: address('224.0.0.18'), bytes: new Uint8Array(LARGEST_MESSAGE) }
  const group = { family: 'ipv4', interfaceIndex: 2, source: address('192.0.2.1'), datagrams: [datagram] } as const
  const large = { ...planOf(1), packets: [group] }
  const bytes = armMessage(large).length
  port.arm(large)
  port.arm(large)
  port.arm(planOf(2))
  const fault = { event: 'cleanupPlanTooLarge', message: expect.stringContaining('too large'), unit: 1, bytes }
  expect([port.armed, faults]).toEqual([false, [fault]])
  port.arm(planOf(1))
  expect(port.armed).toBe(true)
  expect(hex(readAll())).toBe(hex(armMessage(planOf(2)), armMessage(planOf(1))))
})

test('with a full channel nothing is armed, and later only the newest plan of each unit is sent', () => {
  const port = open()
  for (let i = 0; i < 5000 && port.armed; i++) port.arm(planOf(1))
  expect(port.armed).toBe(false)
  port.arm(planOf(2, 21))
  port.arm(planOf(1, 12))
  port.arm(planOf(2, 22))
  expect(port.armed).toBe(false)
  readAll()
  port.withdraw(3)
  expect(port.armed).toBe(true)
  expect(hex(readAll())).toBe(hex(armMessage(planOf(1, 12)), armMessage(planOf(2, 22)), withdrawMessage(3)))
})

test('a watched guardian reports its wake-ups, and its end once', async () => {
  const native = loadNative()
  const [ours, theirs] = native.streamPair()
  let calls = 0
  const heard = openGuardian(String(ours), (fault) => faults.push(fault), undefined, native)
  expect(heard.listen(() => calls++)).toBe(true)
  try {
    writeSync(theirs, 'x')
    await eventually('a call', () => calls === 1, { sight: () => calls, within: 2_000 })
    expect([faults, heard.armed]).toEqual([[], true])
  } finally {
    closeSync(theirs)
  }
  await eventually('its end', () => faults.length === 1, { sight: () => faults, within: 2_000 })
  expect([calls, heard.armed]).toEqual([2, false])
  heard.release()
})

test('a guardian that cannot be watched is polled', () => {
  expect(openGuardian('none').listen(() => {})).toBe(false)
  expect(open().listen(() => {})).toBe(false)
})
