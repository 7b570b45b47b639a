/**
 * The order to replace the engine (native/guardian/message.h, kind 16): it says until when it holds, and an engine that
 * has given up no longer sends it.
 */
import { expect, test } from 'vitest'
import type { GuardianChannel } from '../../../src/linux/guardian/guardian-channel.ts'
import { GuardianRestart, handOverMessage } from '../../../src/linux/guardian/restart.ts'
import type { GuardianWords } from '../../../src/linux/native.ts'

const RECORD = { claims: [{ slot: 1, generation: 2 }], text: 'x' }
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test.each([
  [1_000, 'e2040000'],
  [2 ** 32 - 1, 'f9000000'],
])('at %d ms, the order holds for 250 ms', (now, until) => {
  expect(hex(handOverMessage(RECORD, now))).toBe(`0110000001000000${until}010000000200000078`)
})

test('an order that the channel has not accepted is withdrawn before the engine goes on', () => {
  const waiting = new Map<number, Uint8Array>()
  const channel: Pick<GuardianChannel, 'onAnswer' | 'post' | 'readCalls' | 'withdraw'> = {
    onAnswer: () => {},
    readCalls: () => {},
    post: (key, message) => void waiting.set(key, message),
    withdraw: (key) => void waiting.delete(key),
  }
  const port = new GuardianRestart({} as GuardianWords, channel as GuardianChannel, undefined)
  expect(port.handOver(RECORD)).toBe('the guardian does not answer')
  expect(waiting.size).toBe(0)
})
