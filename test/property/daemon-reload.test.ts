/**
 * Any reload, in any state of the routers, with any other event around it. After every step an Active has its
 * addresses, each address has one router that answers for it and a cleanup plan, and a group moves as a whole. After
 * stop() nothing is left. The node is simulated (test/unit/daemon/fake-world.ts).
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gratuitousArp } from '../../src/arp/gratuitous-arp.ts'
import { address } from '../../src/wire/address.ts'
import { forAll } from '../support/for-all.ts'
import { type Action, does, wrongs } from '../support/node-history.ts'
import { FakeWorld, link, present, type RouterConfig, SELF } from '../unit/daemon/fake-world.ts'

const NAMES = ['a', 'b', 'c']
const VIPS = [100, 101, 102, 103, 104, 105].map((host) => `192.0.2.${host}`)
const NICS = new Map([
  [2, 'eth0'],
  [3, 'eth1'],
])
const PEER_MAC = link(66, 'peer').mac

/** Configurations whose routers choose among three names, VRIDs and addresses, and a few interfaces. */
const configuration = fc
  .record({
    names: fc.shuffledSubarray(NAMES, { minLength: 1 }),
    group: fc.subarray(NAMES),
    vrids: fc.shuffledSubarray([51, 52, 53], { minLength: 3 }),
    vips: fc.shuffledSubarray(VIPS, { minLength: VIPS.length }),
    rest: fc.array(
      fc.record({
        interface: fc.constantFrom('eth0', 'auto', 'eth1', 'eth9'),
        priority: fc.constantFrom(50, 128, 200, 255),
        // Priority 255 as in a keepalived file: an address owner would wait for addresses that this node never has.
        ownAddresses: fc.constant('installed'),
        advertisementInterval: fc.constantFrom('100ms', '1s'),
      }),
      { minLength: 3, maxLength: 3 },
    ),
  })
  .map(({ names, group, vrids, vips, rest }) => {
    const members = names.filter((name) => group.includes(name))
    const routers = names.map((name, i): RouterConfig => {
      const addresses = vips.slice(2 * i, 2 * i + 1 + (i % 2)).map((vip) => `${vip}/24`)
      return { ...rest[i], name, vrid: vrids[i], addresses }
    })
    return { routers, syncGroups: members.length > 1 ? [{ name: 'group', members }] : [] }
  })

type Configuration = typeof configuration extends fc.Arbitrary<infer T> ? T : never

const action: fc.Arbitrary<Action<FakeWorld>> = fc.oneof(
  {
    weight: 3,
    arbitrary: configuration.map((next: Configuration) =>
      does<FakeWorld>(`reload ${JSON.stringify(next)}`, reload(next)),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(1, 30, 200, 2_100, 4_000)
      .map((wait) => does<FakeWorld>(`wait ${wait}`, (world) => world.advance(wait))),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(51, 52, 53), fc.constantFrom(0, 60, 250))
      .map(([vrid, priority]) => does<FakeWorld>(`hear ${priority} of ${vrid}`, hear(vrid, priority))),
  },
  fc
    .constantFrom(...VIPS)
    .map((vip) =>
      does<FakeWorld>(`claim ${vip}`, (world) =>
        world.hearAnnouncement(gratuitousArp({ address: address(vip), mac: PEER_MAC })),
      ),
    ),
  fc
    .constantFrom(...NAMES)
    .map((name) => does<FakeWorld>(`yield ${name}`, (world) => void world.daemon.yield(name, 3_000))),
  fc
    .tuple(fc.constantFrom(...NICS), fc.boolean())
    .map(([[index, name], up]) =>
      does<FakeWorld>(`${name} ${up}`, (world) => world.setLink(link(index, name, { up }))),
    ),
  fc.constantFrom(...NICS.keys()).map((to) => does<FakeWorld>(`node address to ${to}`, nodeAddressTo(to))),
)

function reload(next: Configuration): Action<FakeWorld> {
  return (world) => void world.reload(next.routers, { syncGroups: next.syncGroups })
}

function hear(vrid: number, priority: number): Action<FakeWorld> {
  return (world) => {
    const open = world.sockets.filter(({ closed }) => !closed)
    const [first] = open
    if (open.length === 1) world.hear(priority, { vrid, on: first?.options.interfaceName ?? '' })
  }
}

function nodeAddressTo(to: number): Action<FakeWorld> {
  return (world) => {
    world.foreign('add', present(to, `${SELF}/24`))
    world.foreign('remove', present(5 - to, `${SELF}/24`))
  }
}

test('no reload loses an address, leaves a removed address, or gives one address to two routers', () => {
  forAll(600, [configuration, fc.array(action, { maxLength: 30 })], (first, actions) => {
    const world = new FakeWorld(first.routers, { syncGroups: first.syncGroups }).start()
    for (const [i, act] of actions.entries()) {
      act(world)
      world.settle()
      expect(
        wrongs(world, new Set(VIPS)),
        `from ${JSON.stringify(first)}\n${actions.slice(0, i + 1).join('\n')}`,
      ).toEqual([])
    }
    void world.daemon.stop()
    world.advance(10_000)
    const left = world.addresses.filter((each) => VIPS.includes(each.address))
    expect([left, world.plans.size], `after stop(), from ${JSON.stringify(first)}\n${actions.join('\n')}`).toEqual([
      [],
      0,
    ])
  })
}, 60_000)
