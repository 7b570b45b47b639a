/** What the benchmark reads out of the gauge's records: outage, loss, overlap; and that a chunk may end anywhere. */
import { describe, expect, test } from 'vitest'
import { ClientRecord } from '../../../bench/failover/client-record.ts'
import { FleetRecord } from '../../../bench/failover/fleet-record.ts'
import { JournalReader, KINDS, type Kind, macOfNumber } from '../../../bench/failover/journal.ts'
import { ObserverRecord } from '../../../bench/failover/observer-record.ts'

const entry = (kind: Kind, number: number, value: number, at: number, other = at) => ({
  kind,
  number,
  value,
  at,
  other,
})

/** The client sends one probe a millisecond from 0; `by(ms)` answers after 0.1 ms, or no host answers. */
function client(ms: number, by: (at: number) => number | undefined, sendAt: (at: number) => number = (at) => at) {
  const record = new ClientRecord()
  record.take(entry('begin', 1, 0, 0, 1))
  for (let at = 0; at < ms; at++) {
    record.take(entry('sent', 0, at, sendAt(at), at))
    const holder = by(at)
    if (holder !== undefined) record.take(entry('reply', holder, at, sendAt(at) + 0.1))
  }
  return record
}

describe('a client', () => {
  test('loses nothing: one probe interval, no move', () => {
    const record = client(100, () => 1)
    expect(record.outage(10, 90)).toBeCloseTo(1)
    expect(record.lost(10, 90)).toBe(0)
    expect(record.movedFrom(1, 0)).toBeUndefined()
  })

  test('is without an answer for as long as the replies are apart', () => {
    const record = client(400, (at) => (at < 100 ? 1 : at < 300 ? undefined : 2))
    expect(record.outage(100, 399)).toBeCloseTo(201)
    expect(record.outageAt(100, 399)).toBeCloseTo(99.1)
    expect(record.lost(100, 399)).toBe(200)
    expect(record.movedFrom(1, 100)?.at).toBeCloseTo(300.1)
    expect(record.holderAt(99)).toBe(1)
    expect(record.lastOf(1, 399)).toBeCloseTo(99.1)
    expect(record.settledAt(399)).toBeCloseTo(300.1)
    // Before and after it, nothing was wrong.
    expect(record.outage(10, 90)).toBeCloseTo(1)
    expect(record.outage(310, 390)).toBeCloseTo(1)
    expect(record.outageAt(310, 390)).toBeUndefined()
  })

  test('an outage that lasts counts up to the end of the window', () => {
    const record = client(400, (at) => (at < 100 ? 1 : undefined))
    expect(record.outage(100, 350)).toBeCloseTo(350 - 99.1)
    expect(record.movedFrom(1, 100)).toBeUndefined()
  })

  test('a probe that left late is not an outage, but tells of the gauge', () => {
    // Nothing left between 100 and 150, and nothing that left was lost.
    const sent = (at: number) => (at >= 100 && at < 150 ? 150 + (at - 100) / 1_000 : at)
    const record = client(300, () => 1, sent)
    expect(record.outage(90, 290)).toBeCloseTo(1)
    expect(record.lost(90, 290)).toBe(0)
    expect(record.punctuality(0, 300).lateMaxMs).toBeCloseTo(50)
    expect(record.punctuality(0, 300).lateP50Ms).toBe(0)
  })

  test('an outage in which the gauge was late as well is still one', () => {
    const sent = (at: number) => (at >= 120 && at < 130 ? 130 + (at - 120) / 1_000 : at)
    const record = client(300, (at) => (at < 100 || at >= 200 ? 1 : undefined), sent)
    expect(record.outage(90, 290)).toBeCloseTo(101)
  })

  test('an answer to a probe that somebody has answered is counted apart', () => {
    const record = client(100, () => 1)
    record.take(entry('reply', 2, 50, 51))
    expect(record.doubled).toBe(1)
    expect(record.holders.map(({ by }) => by)).toEqual([1])
  })

  test('a second later an answer is none', () => {
    const record = client(100, (at) => (at === 50 ? undefined : 1))
    record.take(entry('reply', 1, 50, 1_051))
    expect(record.lost(0, 100)).toBe(1)
  })
})

/** The observer asks one question a millisecond; the list has the MACs that answer. */
function observer(ms: number, answers: (at: number) => readonly number[]) {
  const record = new ObserverRecord()
  for (let at = 0; at <= ms; at++) {
    record.take(entry('asked', 0, at, at))
    for (const mac of answers(at)) record.take(entry('claim', 0, mac, at + 0.05))
  }
  return record
}

describe('a client of many addresses', () => {
  test('a silence is from the first probe without an answer to the next answer, of each address by itself', () => {
    const record = new FleetRecord(2)
    for (const at of [0, 25, 50, 75]) for (const vip of [0, 1]) record.ask(vip, at + vip)
    expect(record.answer(0, 1, 'r1', 1), 'the first to answer is another than nobody').toBe(true)
    for (const probe of [1, 2, 3, 4]) record.answer(1, probe, 'r1', 25 * probe)
    expect(record.answer(0, 4, 'r2', 76), 'r2 answers').toBe(true)
    expect(record.answer(0, 3, 'r1', 77), 'an answer to an older probe').toBe(false)
    expect(record.end(80)).toEqual([75, 0])
  })

  test('a client that did not ask for 200 ms, or read late, saw no silence', () => {
    const record = new FleetRecord(1)
    record.answer(0, record.ask(0, 0), 'r1', 1)
    const before = record.ask(0, 25)
    const after = record.ask(0, 225)
    record.answer(0, before, 'r1', 226)
    record.answer(0, after, 'r1', 226)
    expect(record.end(230)).toEqual([0])
  })

  test('a silence that lasts counts up to the end, one from before the beginning does not', () => {
    const record = new FleetRecord(1)
    record.ask(0, 0)
    record.answer(0, record.ask(0, 500), 'r1', 501)
    record.begin()
    record.ask(0, 525)
    expect(record.end(625)).toEqual([100])
  })
})

describe('an observer', () => {
  test('sums the questions that two answered, and those that nobody did', () => {
    const record = observer(100, (at) => (at < 20 ? [1] : at < 50 ? [1, 2] : at < 60 ? [] : [2]))
    expect(record.overlap(0, 100)).toBe(30)
    expect(record.overlap(30, 100)).toBe(20)
    expect(record.silence(0, 100)).toBe(10)
    expect(record.doubled(100)).toBe(false)
    expect(record.claimedBy(new Set([macOfNumber(1)]), 0, 100)).toBe(20)
  })

  test('two with one MAC are two', () => {
    const record = observer(300, () => [0x5e_00_01_33, 0x5e_00_01_33])
    expect(record.overlap(0, 300)).toBe(300)
    expect(record.doubled(300)).toBe(true)
  })

  test('keeps who announced itself when', () => {
    const record = new ObserverRecord()
    record.take(entry('announced', 0, 0x0200_0000_000a, 12))
    expect(record.announced(10, 20)).toEqual([{ at: 12, mac: '02:00:00:00:00:0a' }])
    expect(record.announced(13, 20)).toEqual([])
  })
})

describe('the bytes of a journal', () => {
  const bytes = new Uint8Array(64)
  const view = new DataView(bytes.buffer)
  for (const [i, kind] of (['sent', 'reply'] as const).entries()) {
    view.setUint32(32 * i, KINDS.indexOf(kind) + 1, true)
    view.setUint32(32 * i + 4, i + 3, true)
    view.setBigUint64(32 * i + 8, 7n, true)
    view.setBigInt64(32 * i + 16, 1_500_000n, true)
    view.setBigInt64(32 * i + 24, 1_250_000n, true)
  }
  const whole = [entry('sent', 3, 7, 1.5, 1.25), entry('reply', 4, 7, 1.5, 1.25)]

  test('are read whole and torn', () => {
    expect(new JournalReader().take(bytes)).toEqual(whole)
    for (let at = 0; at <= bytes.length; at++) {
      const reader = new JournalReader()
      const torn = [...reader.take(bytes.subarray(0, at)), ...reader.take(bytes.subarray(at))]
      expect(torn).toEqual(whole)
    }
  })

  test('of no record are refused', () => {
    expect(() => new JournalReader().take(new Uint8Array(32))).toThrow('no record at byte 0')
  })
})
