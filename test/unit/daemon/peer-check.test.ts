import { describe, expect, test } from 'vitest'
import { neighborSolicitation } from '../../../src/arp/neighbor-solicitation.ts'
import { PeerCheck } from '../../../src/daemon/lan/peer-check.ts'
import { address } from '../../../src/wire/address.ts'
import { macFromBytes } from '../../../src/wire/mac.ts'
import { type Millis, millis } from '../../../src/wire/units.ts'

const PEER = address('192.0.2.2')
const MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 2))
const OURS = { source: address('192.0.2.1'), mac: macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 1)) }

describe('answers that the check does not hear', () => {
  function check() {
    let expected: Millis | undefined
    const peers = new PeerCheck(() => expected)
    const ask = (at: number) => peers.ask([PEER], OURS, millis(1_000), millis(at)).length
    const hear = (at: number) => peers.hear(PEER, MAC, millis(at))
    const note = (at: number) => {
      expected = millis(at)
    }
    return { ask, hear, note, peers }
  }

  test('a noted answer counts as an answer: no broadcast follows, and the next heard answer is no return', () => {
    const { ask, hear, note } = check()
    ask(0)
    hear(1)
    for (let at = 1_000; at <= 9_000; at += 1_000) {
      expect(ask(at)).toBe(1)
      note(at + 1)
    }
    expect(ask(10_000)).toBe(1)
    expect(hear(10_001)).toBe('present')
  })

  test('a peer that stopped answering is asked by broadcast as well, and its answer is a return', () => {
    const { ask, hear, note } = check()
    ask(0)
    hear(1)
    ask(1_000)
    note(1_001)
    for (const at of [2_000, 3_000, 4_000, 5_000]) ask(at)
    expect(ask(6_000)).toBe(2)
    expect(hear(6_001)).toBe('back')
  })

  test('noted answers to questions of a clock count as answers, also after their times were forgotten', () => {
    const { hear, note, peers } = check()
    const grid = { first: millis(1_000), period: millis(1_000) }
    peers.repeat([PEER], OURS, { grid, interval: millis(1_000), vrid: 7 })
    hear(1_001)
    for (let at = 2_000; at <= 9_000; at += 1_000) note(at + 1)
    peers.noteAnswers()
    note(0)
    expect(hear(10_001)).toBe('present')
    expect(hear(15_001)).toBe('back')
  })

  test('the patience of a peer is 2.5 intervals of the router that asks', () => {
    const { ask, peers } = check()
    ask(0)
    expect(peers.patienceFor(PEER)).toBe(2_500)
  })
})

describe('questions of a clock', () => {
  const PEER6 = address('fe80::2')
  const OURS6 = { source: address('fe80::1'), mac: OURS.mac }
  const grid = { first: millis(1_000), period: millis(3_000) }
  const clockOf = (vrid: number) => ({ grid, interval: millis(1_000), vrid })

  test('the clock of one router asks a peer, until that router takes its questions back', () => {
    const peers = new PeerCheck()
    expect(peers.repeat([PEER], OURS, clockOf(7)).map(({ every }) => every)).toEqual([3])
    expect(peers.repeat([PEER], OURS, clockOf(8))).toEqual([])
    peers.takeBack(8)
    expect(peers.isRepeated([PEER])).toBe(true)
    peers.takeBack(7)
    expect(peers.isRepeated([PEER])).toBe(false)
    expect(peers.repeat([PEER], OURS, clockOf(8))).toHaveLength(1)
  })

  test('an IPv6 peer is asked by a Neighbor Solicitation, by the engine and by the clock', () => {
    const peers = new PeerCheck()
    const frame = neighborSolicitation({ target: PEER6, source: OURS6.source, mac: OURS6.mac })
    expect(peers.ask([PEER6], OURS6, millis(1_000), millis(0))).toEqual([frame])
    expect(peers.repeat([PEER6], OURS6, clockOf(7))).toEqual([{ every: 3, frame }])
  })

  test('a peer that no router asks has no patience, and its answers are not noted', () => {
    const peers = new PeerCheck(() => millis(5))
    peers.noteAnswers()
    expect(peers.patienceFor(PEER)).toBe(0)
    expect(peers.hear(PEER, MAC, millis(10))).toBeUndefined()
  })
})
