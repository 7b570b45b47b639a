/** Log records at a bounded rate and in bounded memory, whatever a peer does (VR-RX-21). The clock is an argument. */
import { beforeEach, expect, test } from 'vitest'
import { Counters, type Later, type LogRecord, Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import { LOG } from '../../../src/log/log.ts'

const atOnce: Later = (deliver) => deliver()
let elapsed = 0
let records: LogRecord[] = []
let recorder: Recorder

beforeEach(() => {
  elapsed = 0
  records = []
  recorder = new Recorder(() => elapsed, atOnce)
  recorder.attach((record) => records.push(record))
})

const messages = () => records.map(({ message }) => message)

test('a key has one line in 10 s, and the next line counts the others', () => {
  for (let i = 0; i < 50; i++) recorder.logLimited('discard eth0 ttl a', LOG.packetDiscarded, `ttl ${i}`)
  recorder.logLimited('discard eth0 ttl b', LOG.packetDiscarded, 'other source')
  expect(messages()).toEqual(['ttl 0', 'other source'])
  elapsed = 10_000
  recorder.logLimited('discard eth0 ttl a', LOG.packetDiscarded, 'ttl later', { peer: 'a' })
  expect(records.at(-1)?.fields).toEqual({ peer: 'a', suppressed: 49 })
})

test('liftLimits() lifts the limits of its subject only', () => {
  recorder.logLimited('api send EPERM', LOG.packetDiscarded, 'api')
  recorder.logLimited('api6 send EPERM', LOG.packetDiscarded, 'api6')
  recorder.liftLimits('api')
  recorder.logLimited('api send EPERM', LOG.packetDiscarded, 'api again')
  recorder.logLimited('api6 send EPERM', LOG.packetDiscarded, 'api6 again')
  expect(messages()).toEqual(['api', 'api6', 'api again'])
})

test('100 000 invented sources cause at most 257 lines in 10 s', () => {
  const before = performance.now()
  for (let i = 0; i < 100_000; i++) recorder.logLimited(`discard eth0 ttl ${i}`, LOG.packetDiscarded, 'x')
  expect(records.length).toBeLessThanOrEqual(257)
  expect(performance.now() - before, 'milliseconds for 100 000 calls').toBeLessThan(5_000)
  for (let round = 1; round <= 10; round++) {
    elapsed = round * 10_000
    for (let i = 0; i < 1_000; i++) recorder.logLimited(`discard eth0 ttl ${round} ${i}`, LOG.packetDiscarded, 'x')
  }
  expect(records.length, 'after ten more rounds').toBeLessThanOrEqual(11 * 257)
  expect(records.length, 'and every round was heard of').toBeGreaterThanOrEqual(11 * 200)
})

test('liftLimits() lifts no more limits than there are keys', () => {
  for (let i = 0; i < 10_000; i++) {
    elapsed = i / 10
    recorder.logLimited(`api warning ${i % 100}`, LOG.packetDiscarded, 'x')
    recorder.liftLimits('api')
  }
  expect(records.length, 'lines in a second').toBeLessThanOrEqual(2 * 256 + 1)
  elapsed = 20_000
  const before = records.length
  recorder.logLimited('api warning 1', LOG.packetDiscarded, 'x')
  recorder.liftLimits('api')
  recorder.logLimited('api warning 1', LOG.packetDiscarded, 'x')
  expect(records.length - before, 'lines of the next quiet time').toBe(2)
})

test('up to 1 000 records wait for the reader, and the others are counted', () => {
  const early = new Recorder(() => elapsed, atOnce)
  for (let i = 0; i < 1_200; i++) early.log(LOG.peerReached, `${i}`)
  const seen: LogRecord[] = []
  early.attach((record) => seen.push(record))
  expect([seen.length, seen[0]?.message, early.lost]).toEqual([1_000, '0', 200])
  early.log(LOG.peerReached, 'now')
  expect(seen.at(-1)?.message).toBe('now')
})

test('the reader is called after the writer has finished, in order', async () => {
  const later = new Recorder()
  const seen: string[] = []
  later.log(LOG.peerReached, 'before anybody read')
  later.attach(({ message }) => seen.push(message))
  later.log(LOG.peerReached, 'of one turn')
  later.log(LOG.peerReached, 'of the same')
  expect(seen, 'while the turn goes on').toEqual([])
  await new Promise<void>((resolve) => setImmediate(resolve))
  expect(seen, 'afterwards').toEqual(['before anybody read', 'of one turn', 'of the same'])
  later.log(LOG.peerReached, 'the last')
  later.flush()
  expect(seen.at(-1), 'when nothing waits behind it').toBe('the last')
})

test('the limits use a clock of their own, so that a wall clock that is set back suppresses nothing', () => {
  recorder.logLimited('k', LOG.peerReached, 'first')
  elapsed = 10_000
  recorder.logLimited('k', LOG.peerReached, 'second')
  expect(messages()).toEqual(['first', 'second'])
  // The default is monotonic too.
  const real = new Recorder(undefined, atOnce)
  real.attach((record) => records.push(record))
  real.logLimited('k', LOG.peerReached, 'real')
  real.logLimited('k', LOG.peerReached, 'too soon')
  expect(messages()).toEqual(['first', 'second', 'real'])
})

test('counters add up and are JSON', () => {
  const counters = new Counters()
  counters.add('ttl')
  counters.add('ttl', 2)
  expect([counters.get('ttl'), counters.get('none'), JSON.stringify(counters)]).toEqual([3, 0, '{"ttl":3}'])
})
