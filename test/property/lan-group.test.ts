/**
 * Sync groups on the virtual LAN after any accident: a node, wire or family is cut or unplugged, packets are lost,
 * nodes stall or are switched off. After the accident exactly one node has all addresses, in time. A node never has a
 * part of the addresses while another has the rest. Addresses of one family may be ordered against those of the other.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forAll } from '../support/for-all.ts'
import { type LanSpec, VirtualLan } from '../support/virtual-lan.ts'

const NAMES = ['a', 'b', 'c', 'd'] as const
const LATENCY = 0.2

const MEMBERS = [
  [
    { name: 'v4', family: 'ipv4', wire: 'lan' },
    { name: 'v6', family: 'ipv6', wire: 'lan', reversed: true },
  ],
  [
    { name: 'front', family: 'ipv4', wire: 'front', reversed: true },
    { name: 'back', family: 'ipv4', wire: 'back' },
  ],
  [
    { name: 'one', family: 'ipv4', wire: 'front' },
    { name: 'two', family: 'ipv6', wire: 'front', reversed: true },
    { name: 'three', family: 'ipv6', wire: 'back' },
  ],
] as const

const spec: fc.Arbitrary<LanSpec & { interval: number }> = fc
  .record({
    members: fc.constantFrom(...MEMBERS),
    interval: fc.constantFrom(1, 10, 100),
    peers: fc.boolean(),
    lateness: fc.constantFrom(0, 0.4, 2.5),
    seed: fc.integer({ min: 1, max: 2 ** 31 }),
    nodes: fc.uniqueArray(
      fc.record({
        priority: fc.constantFrom(50, 100, 100, 200),
        host: fc.integer({ min: 1, max: 250 }),
        offset: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_000_000 })),
      }),
      { minLength: 2, maxLength: 4, selector: ({ host }) => host },
    ),
  })
  .map(({ nodes, ...rest }) => ({
    ...rest,
    latency: LATENCY,
    nodes: nodes.map((node, i) => ({ ...node, name: NAMES[i] ?? 'd' })),
  }))

const accident = fc.record({
  kind: fc.constantFrom(
    'cut',
    'heal',
    'unplug',
    'plug',
    'stall',
    'crash',
    'shutdown',
    'yield',
    'start',
    'priority',
    'loss',
  ),
  who: fc.nat({ max: 3 }),
  part: fc.nat({ max: 4 }),
  value: fc.integer({ min: 1, max: 254 }),
  wait: fc.integer({ min: 0, max: 60 }),
})
type Accident = typeof accident extends fc.Arbitrary<infer T> ? T : never

function happen(lan: VirtualLan, { kind, part, value, who }: Accident, interval: number): void {
  const node = lan.nodes[who % lan.nodes.length]
  if (node === undefined) throw new Error('a LAN has nodes')
  const { name, running } = node
  const member = node.members[part % node.members.length]
  const wire = member?.wire ?? ''
  switch (kind) {
    case 'cut':
      return lan.cut(name, [undefined, wire, member?.parameters.family][part % 3])
    case 'heal':
      return lan.heal(name)
    case 'unplug':
      return running ? lan.unplug(name, wire) : undefined
    case 'plug':
      return running ? lan.plug(name, wire) : undefined
    case 'stall':
      if (running) lan.stall(name, (value / 12) * interval)
      return
    case 'crash':
      return running ? lan.crash(name) : undefined
    case 'shutdown':
      return running ? lan.shutdown(name) : undefined
    case 'yield':
      return running ? lan.yield(name) : undefined
    case 'start':
      return running ? undefined : lan.start(name)
    case 'priority':
      return lan.setPriority(name, value)
    case 'loss':
      lan.loss = value / 512
  }
}

function calm(lan: VirtualLan, interval: number): void {
  lan.healAll()
  lan.loss = 0
  lan.run(Math.max(0, ...lan.nodes.map((node) => (node.stalledUntil ?? lan.now) - lan.now)))
  const all = () => lan.nodes.flatMap(({ members }) => members)
  // A successor whose advertisement comes at the last moment; then an IPv6 address stays for another 100 ms
  // (docs/adr/0013).
  const longest = 2 * interval + 100 + 20
  lan.runUntil('Leaving to end', () => all().every(({ state }) => state.name !== 'Leaving'), longest)
  for (const { name, running, members } of lan.nodes) {
    if (!running) lan.start(name)
    for (const { wire } of members) lan.plug(name, wire)
  }
}

const story = (lan: VirtualLan) => lan.notes.map(({ at, node, text }) => `${at.toFixed(3)} ${node} ${text}`).join('\n')

describe('a LAN of sync groups after any accidents', () => {
  test('gives all addresses to exactly one node within two Active_Down_Intervals, and that node keeps them', () => {
    forAll(500, [spec, fc.array(accident, { maxLength: 20 })], (lanSpec, accidents) => {
      const lan = new VirtualLan(lanSpec)
      const interval = lanSpec.interval * 10
      try {
        lan.startAll()
        for (const one of accidents) {
          happen(lan, one, interval)
          lan.run((one.wait * interval) / 10)
        }
        calm(lan, interval)
        lan.run(8 * interval + 8 * 3 + 8 * (LATENCY + 2.5))
        const settled = lan.now
        const [winner, ...others] = lan.active
        expect(others, `Actives beside ${winner} at ${settled} ms`).toEqual([])
        expect(lan.isAll(lan.active), `${winner} has everything at ${settled} ms`).toBe(true)
        const best = Math.max(...lan.nodes.map(({ parameters }) => parameters.priority))
        expect(lan.node(winner ?? '').parameters.priority, `priority of the Active at ${settled} ms`).toBe(best)
        lan.run(5 * interval)
        expect(
          lan.longestReign((count) => count !== 1, settled),
          'ms without exactly one Active, afterwards',
        ).toBe(0)
      } catch (error) {
        throw new Error(`${error instanceof Error ? error.message : error}\n${story(lan)}`)
      }
    })
  })
})

describe('equal sync groups whose addresses have different orders', () => {
  const nodes = [
    { name: 'a', priority: 100 },
    { name: 'b', priority: 100 },
  ]

  /** Returns the longest time in which a router of the group had no holder after a heal. */
  function healed(groupTie: boolean, seed: number): { nobody: number; several: number } {
    const lan = new VirtualLan({ nodes, members: MEMBERS[0], interval: 100, knobs: { groupTie }, lateness: 0.4, seed })
    lan.startAll()
    lan.run(8000)
    lan.cut('a')
    lan.run(8000 + seed * 37)
    expect(lan.active, 'both sides are Active').toEqual(['a', 'b'])
    lan.heal('a')
    const since = lan.now
    lan.run(20_000)
    return {
      nobody: Math.max(...['v4', 'v6'].map((name) => lan.longest((count) => count === 0, since, name))),
      several: Math.max(...['v4', 'v6'].map((name) => lan.longest((count) => count > 1, since, name))),
    }
  }

  test('agree on one group after a heal: no router is ever without a holder, and two holders last less than an interval', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { nobody, several } = healed(true, seed)
      expect(nobody, `ms without a holder, seed ${seed}`).toBe(0)
      expect(several, `ms with two holders, seed ${seed}`).toBeLessThan(1000)
    }
  })

  test('both step down for a whole Active_Down_Interval without groupTie', () => {
    const outages = Array.from({ length: 40 }, (_, i) => healed(false, i + 1).nobody)
    expect(outages.filter((ms) => ms > 3000).length, 'heals with an outage').toBeGreaterThan(20)
  })
})
