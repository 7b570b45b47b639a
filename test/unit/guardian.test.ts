/**
 * When wills count as armed. A FIFO stands in for the socketpair: it is non-blocking, can be full, and can lose its
 * reader. That the guardian understands the messages is shown in test/netns.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LastWill } from '../../src/daemon/ports.ts'
import { openGuardian } from '../../src/linux/guardian.ts'
import { armMessage, withdrawMessage } from '../../src/linux/will-message.ts'
import { address } from '../../src/wire/address.ts'

const will = (unit: number, host = 1): LastWill => ({
  unit,
  name: 'api',
  remove: [{ interfaceIndex: 2, address: address(`192.0.2.${host}`), prefixLength: 32 }],
  packets: [],
})
const hex = (...messages: Uint8Array[]) => Buffer.concat(messages).toString('hex')

let directory = ''
let reader = -1
let writer = -1

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-guardian-'))
  const path = join(directory, 'fifo')
  execFileSync('mkfifo', [path])
  reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
})
afterEach(() => {
  for (const fd of [reader, writer]) if (fd >= 0) closeSync(fd)
  rmSync(directory, { recursive: true })
})

function readAll(): Buffer {
  const buffer = Buffer.alloc(1 << 17)
  return buffer.subarray(0, readSync(reader, buffer))
}

test('started without a guardian', () => {
  for (const descriptor of ['', 'x', '-1']) {
    const port = openGuardian(descriptor)
    port.arm(will(1))
    port.withdraw(1)
    expect(port.armed).toBe(false)
  }
})

test('arm and withdraw are one message each', () => {
  const port = openGuardian(String(writer))
  port.arm(will(1))
  port.withdraw(1)
  expect(hex(readAll())).toBe(hex(armMessage(will(1)), withdrawMessage(1)))
  expect(port.armed).toBe(true)
})

test('a guardian that is gone', () => {
  const port = openGuardian(String(writer))
  closeSync(reader)
  reader = -1
  port.arm(will(1))
  expect(port.armed).toBe(false)
})

test('a full channel: not armed, and later only the newest of each unit is told', () => {
  const port = openGuardian(String(writer))
  for (let i = 0; i < 5000 && port.armed; i++) port.arm(will(1))
  expect(port.armed).toBe(false)
  port.arm(will(2, 21))
  port.arm(will(1, 12))
  port.arm(will(2, 22))
  readAll()
  expect(port.armed).toBe(false)
  port.withdraw(3)
  expect(port.armed).toBe(true)
  expect(hex(readAll())).toBe(hex(armMessage(will(1, 12)), armMessage(will(2, 22)), withdrawMessage(3)))
})
