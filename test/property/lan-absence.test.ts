/**
 * Nodes that are frozen and come back, on the virtual LAN with modelled guardians and lifetimes (ground rules 3 and
 * 4). Checked are the nodes that answer meanwhile and afterwards, and the packets of a returning node. A failure
 * prints the story.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forAll } from '../support/for-all.ts'
import { type LanSpec, VirtualLan } from '../support/virtual-lan.ts'

const LATENCY = 0.2
/** Time of a preemption, until the loser receives the advertisement. */
/**
 * A node that yields to a better one removes its address 1 ms after the better one's announcement (docs/adr/0045).
 */
const HANDOVER = 2 * LATENCY + 1
/** Deadline of the cleanup plan of a node that freezes while it waits for that announcement. */
const FROZEN_LOSER = 70
/** Time of the drain of the sockets, the question to the LAN, and the answer. */
const RETURN = 20
const INTERVALS = [1, 10, 100] as const
const ENDS = { a: 200, b: 100 } as const

const GROUP = [
  { name: 'v4', family: 'ipv4', wire: 'lan' },
  { name: 'v6', family: 'ipv6', wire: 'lan' },
] as const

const story = (lan: VirtualLan) => lan.notes.map(({ at, node, text }) => `${at.toFixed(3)} ${node} ${text}`).join('\n')

function told(lan: VirtualLan, check: () => void): void {
  try {
    check()
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n${story(lan)}`)
  }
}

/** Makes router "a" of priority 200 Active for a while, beside router "b" of priority 100 unless "a" is alone. */
function settled(interval: number, more: Partial<LanSpec> = {}): VirtualLan {
  const nodes = Object.entries(ENDS).map(([name, priority]) => ({ name, priority }))
  const lan = new VirtualLan({ nodes, interval, latency: LATENCY, guarded: true, ...more })
  lan.startAll()
  lan.run(interval * 10 * 10)
  expect(lan.isAll(['a']), `"a" is Active with everything\n${story(lan)}`).toBe(true)
  return lan
}

const alone = { nodes: [{ name: 'a', priority: 200 }] }
const saidBy = (lan: VirtualLan, name: string, since: number) =>
  lan.notes.filter(({ at, node, text }) => node === name && at >= since && text.includes('sends '))
const several = (count: number) => count > 1

describe.each(INTERVALS)('advertisements every %i cs', (centis) => {
  const interval = centis * 10
  const away = 8 * interval

  test.each([
    ['one router', undefined],
    ['a sync group', GROUP],
  ])(
    'a frozen Active returns (%s): moved by its cleanup plan, never two answer, nothing said before it has listened',
    (_w, members) => {
      const lan = settled(centis, members === undefined ? {} : { members })
      told(lan, () => {
        const since = lan.now
        lan.freeze('a', away)
        // The cleanup plan's deadline at 3 intervals after the last advertisement, then Skew_Time of "b".
        lan.runUntil('"b" to answer', () => lan.holders.join() === 'b', 3 * interval + (156 / 256) * interval + 1)
        lan.run(since + away - lan.now)
        const back = lan.now
        lan.run(RETURN)
        expect(lan.node('a').state.name).toBe('Backup')
        expect(saidBy(lan, 'a', back), 'packets of "a" on its return').toEqual([])
        expect(lan.longest(several, since), 'ms with two answering').toBe(0)
        // Line (470): the better node follows after a whole Active_Down_Interval.
        lan.runUntil('"a" to have everything', () => lan.isAll(['a']), 5 * interval)
        expect(lan.now - back, 'ms from the return of "a" until it is Active again').toBeGreaterThan(
          3 * interval - RETURN,
        )
        lan.run(10 * interval)
        expect(lan.longest(several, since), 'ms with two answering').toBeLessThanOrEqual(HANDOVER)
        expect(lan.isAll(['a'])).toBe(true)
      })
    },
  )

  test.each([
    ['one router', undefined],
    ['a sync group', GROUP],
  ])('a lone node gets its addresses back immediately (%s)', (_word, members) => {
    const lan = settled(centis, members === undefined ? alone : { ...alone, members })
    told(lan, () => {
      lan.freeze('a', away)
      lan.run(away - 0.001)
      expect(lan.holders, 'its cleanup plan was executed').toEqual([])
      const took = lan.runUntil('"a" to have everything', () => lan.isAll(['a']), RETURN + 1)
      expect(took, 'ms from the return of "a" to its answer, which come after it has listened').toBeGreaterThan(
        RETURN - 0.01,
      )
    })
  })

  test('a lone node whose guardian also slept removes the address and gets it back, once', () => {
    const lan = settled(centis, alone)
    told(lan, () => {
      const since = lan.now
      lan.freeze('a', away, away + 50)
      lan.run(away + RETURN + 1)
      expect(lan.isAll(['a'])).toBe(true)
      lan.run(10 * interval + 100)
      expect(lan.isAll(['a']), 'whether "a" has every address after its guardian woke later').toBe(true)
      expect(lan.notes.filter(({ at, text }) => at >= since && text.includes('installs')).length).toBe(1)
    })
  })

  test.each([
    ['the guardian wakes first', 0],
    ['the engine wakes first', 30],
  ])(
    'with both frozen, %s, two nodes answer until the lifetime or the return ends it, and not after',
    (_word, later) => {
      const lan = settled(centis)
      told(lan, () => {
        const since = lan.now
        const long = 6000
        lan.freeze('a', long, long + later)
        lan.run(long)
        const lifetime = Math.max(2000, Math.ceil((3 + 56 / 256) * interval))
        expect(lan.longest(several, since), 'ms with two answering').toBeLessThan(Math.ceil(lifetime / 1000) * 1000)
        expect(lan.holders, 'nodes that answer after the kernel removed the address of "a"').toEqual(['b'])
        const back = lan.now
        lan.run(RETURN)
        expect(saidBy(lan, 'a', back).filter(({ text }) => !text.includes('sends 0'))).toEqual([])
        lan.run(10 * interval + 100)
        expect(lan.longest(several, back), 'ms with two answering after the return').toBeLessThanOrEqual(HANDOVER)
        expect(lan.isAll(['a'])).toBe(true)
      })
    },
  )

  test('a stall that no other node can notice changes nothing', () => {
    const lan = settled(centis)
    told(lan, () => {
      const since = lan.now
      lan.freeze('a', 1.9 * interval)
      lan.run(10 * interval)
      expect(
        lan.answering.filter(({ at }) => at > since),
        'who answers',
      ).toEqual([])
      expect(lan.notes.filter(({ at, text }) => at > since && text.includes('->'))).toEqual([])
    })
  })

  test('a host that answers without advertising keeps the node from returning', () => {
    const lan = settled(centis)
    told(lan, () => {
      const since = lan.now
      lan.freeze('a', away)
      lan.cutOneWay('b', 'a')
      lan.run(6 * interval)
      expect(lan.holders, 'nodes that answer after "b" has taken over unnoticed by "a"').toEqual(['b'])
      lan.freeze('b', away, away)
      lan.healAll()
      lan.run(2 * interval + RETURN)
      const heard = lan.notes.filter(({ at, node, text }) => at > since && node === 'a' && text.startsWith('Returning'))
      expect(heard.map(({ text }) => text)).toEqual(['Returning -> Backup (addressClaimed)'])
      lan.run(4 * away + 100)
      expect(lan.isAll(['a'])).toBe(true)
    })
  })

  test('an overflow of the receive queue is no proof that the Active is absent', () => {
    const lan = settled(centis, alone)
    told(lan, () => {
      lan.freeze('a', away)
      lan.run(away - 0.001)
      for (const member of lan.node('a').members) member.lost = true
      lan.run(2 * interval)
      expect(
        lan.node('a').state.name,
        'state of "a" after the overflow, which listens for an Active_Down_Interval',
      ).toBe('Backup')
      lan.runUntil('"a" to have everything', () => lan.isAll(['a']), 2 * interval)
    })
  })
})

/** A longer freeze ends when the kernel removes the addresses, because their lifetime is over. */
test.each([1, 10])(
  'if engine and guardian are frozen for a moment, the woken engine removes the address in its first turn (%i cs)',
  (centis) => {
    const interval = centis * 10
    const lan = settled(centis)
    told(lan, () => {
      const long = 4 * interval
      lan.freeze('a', long, long + 30)
      lan.run(long - 0.001)
      expect(lan.holders, 'nodes that answer while engine and guardian of "a" are frozen').toEqual(['a', 'b'])
      lan.run(0.002)
      expect(lan.holders).toEqual(['b'])
      const since = lan.now
      lan.run(10 * interval + 100)
      expect(lan.longest(several, since), 'ms with two answering').toBeLessThanOrEqual(HANDOVER)
    })
  },
)

const freeze = fc.record({
  who: fc.nat({ max: 2 }),
  /** Duration of the freeze in tenths of the interval. */
  engine: fc.integer({ min: 1, max: 120 }),
  wait: fc.integer({ min: 0, max: 100 }),
})

describe('any engines frozen at any time, on a LAN without other faults', () => {
  const spec = fc.record({
    interval: fc.constantFrom(...INTERVALS),
    members: fc.constantFrom(undefined, GROUP),
    lateness: fc.constantFrom(0, 0.4),
    seed: fc.integer({ min: 1, max: 2 ** 31 }),
    peers: fc.boolean(),
    preempt: fc.boolean(),
  })

  const outcome = (
    { members, preempt, ...rest }: typeof spec extends fc.Arbitrary<infer T> ? T : never,
    freezes: readonly (typeof freeze extends fc.Arbitrary<infer T> ? T : never)[],
    guarded: boolean,
  ) => {
    const nodes = [250, 150, 50].map((priority, i) => ({ name: ['a', 'b', 'c'][i] ?? '', priority, preempt }))
    const lan = new VirtualLan({
      ...rest,
      ...(members === undefined ? {} : { members }),
      nodes,
      latency: LATENCY,
      guarded,
    })
    const interval = rest.interval * 10
    lan.startAll()
    lan.run(10 * interval)
    const since = lan.now
    for (const { engine, wait, who } of freezes) {
      lan.freeze(lan.nodes[who]?.name ?? 'a', (engine * interval) / 10)
      lan.run((wait * interval) / 10)
    }
    lan.run(30 * interval + 100)
    return { lan, two: lan.longest(several, since) }
  }

  /**
   * A better node that has waited its Active_Down_Interval (470) does not ask whether the worse one is frozen just
   * then: the worse one's cleanup plan ends it. Without preemption a takeover follows a cleanup plan or a release.
   */
  test('two nodes answer until each has received the other, or until a cleanup plan is executed; in the end one has everything', () => {
    forAll(400, [spec, fc.array(freeze, { minLength: 1, maxLength: 8 })], (given, freezes) => {
      const { lan, two } = outcome(given, freezes, true)
      const { interval, lateness, preempt } = given
      told(lan, () => {
        expect(two, 'ms with two answering').toBeLessThanOrEqual(
          HANDOVER + 2 * lateness + (preempt ? Math.max(FROZEN_LOSER, 3 * 10 * interval) : 0),
        )
        if (preempt) expect(lan.isAll(['a']), '"a" has everything').toBe(true)
        else expect(lan.active.length === 1 && lan.isAll(lan.active), 'one has everything').toBe(true)
      })
    })
  })

  test('without guardians two nodes answer for longer, which the model shows', () => {
    const frozen = [{ who: 0, engine: 100, wait: 100 }]
    const given = { interval: 100, members: undefined, lateness: 0, seed: 1, peers: false, preempt: true } as const
    expect(outcome(given, frozen, false).two, 'ms with two answering').toBeGreaterThan(5000)
    expect(outcome(given, frozen, true).two, 'ms with two answering').toBeLessThanOrEqual(HANDOVER)
  })
})
