/**
 * Any change of the network under the daemon: links, addresses, late or missing notifications, sockets, the
 * configuration. A VIP is never on a node that does not answer for it, and no Active is without its VIP. When the
 * network is in order again, so is the daemon. The node is simulated (test/unit/daemon/fake-world.ts).
 * daemon-reload.test.ts tests reloads of a steady node.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forAll } from '../support/for-all.ts'
import { FILES, MovingNode, NICS, type Nic, SAYINGS, VIPS } from '../support/moving-node.ts'
import { type Action, does, storyOf } from '../support/node-history.ts'
import { type FakeWorld, failure } from '../unit/daemon/fake-world.ts'

const nic = fc.constantFrom(...NICS)
const vip = fc.constantFrom(...VIPS)
const always = (text: string, act: Action<MovingNode>) => fc.constant(does(text, act))
const toNic = (text: string, act: (node: MovingNode, nic: Nic) => void) =>
  nic.map((which) => does<MovingNode>(`${text} ${which.name}`, (node) => act(node, which)))

function loseNews(world: FakeWorld): void {
  world.dropNotifications()
  world.notify({ kind: 'resync' })
}

const ACTIONS: readonly fc.WeightedArbitrary<Action<MovingNode>>[] = [
  toNic('carrier lost:', (node, which) => node.change(which, { running: false })),
  toNic('carrier back:', (node, { name, ...rest }) => node.change({ name, ...rest }, { running: true, name })),
  toNic('into a bridge:', (node, which) => node.change(which, { portOf: 'bridge' })),
  toNic('out of the bridge:', (node, which) => node.change(which, { portOf: undefined })),
  toNic('delete', (node, which) => node.remove(which)),
  toNic('make again or put right', (node, which) => node.restore(which)),
  toNic('rename', (node, which) => node.rename(which, which.renamed)),
  toNic('another MAC:', (node, which) => node.newMac(which)),
  toNic('own address off', (node, which) => node.address('remove', which, which.own)),
  fc
    .tuple(nic, nic)
    .map(([whose, on]) =>
      does<MovingNode>(`address of ${whose.name} on ${on.name}`, (node) => node.address('add', on, whose.own)),
    ),
  fc
    .constantFrom(...SAYINGS)
    .map((words) => does<MovingNode>(`the file: ${JSON.stringify(words)}`, (node) => node.say(words))),
  toNic('own address on', (node, which) => node.address('add', which, which.own)),
  fc
    .tuple(nic, vip, fc.constantFrom(24, 32))
    .map(([on, which, bits]) =>
      does<MovingNode>(`somebody puts ${which}/${bits} on ${on.name}`, (node) =>
        node.address('add', on, `${which}/${bits}`),
      ),
    ),
  fc
    .subarray(VIPS, { minLength: 1 })
    .map((which) =>
      does<MovingNode>(`somebody takes off ${which}`, (node) =>
        node.removeEverywhere((one) => which.some((v) => v === one)),
      ),
    ),
  fc
    .tuple(nic, fc.constantFrom(0, 40, 200), fc.constantFrom(51, 52, 60))
    .map(([on, priority, vrid]) =>
      does<MovingNode>(`hear ${priority} of ${vrid} on ${on.name}`, (node) => node.hear(on, priority, vrid)),
    ),
  fc
    .constantFrom('api', 'g1', 'g2')
    .map((name) => does<MovingNode>(`yield ${name}`, ({ world }) => void world.daemon.yield(name, 2_000))),
  always('news are held', ({ world }) => {
    world.holdNotifications = true
  }),
  always('news arrive', ({ world }) => {
    world.holdNotifications = false
  }),
  always('news were lost', ({ world }) => loseNews(world)),
  fc.tuple(nic, vip).map(([on, which]) =>
    does<MovingNode>(`unheard: somebody puts ${which} on ${on.name}`, (node) => {
      const held = node.world.holdNotifications
      node.world.holdNotifications = true
      node.address('add', on, `${which}/32`)
      loseNews(node.world)
      node.world.holdNotifications = held
    }),
  ),
  always('sockets cannot be opened', ({ world }) => {
    world.openFailure = failure('EADDRNOTAVAIL')
  }),
  always('sockets can be opened', ({ world }) => {
    world.openFailure = undefined
  }),
].map((arbitrary) => ({ weight: 2, arbitrary }))

const action = fc.oneof(
  ...ACTIONS,
  {
    weight: 5,
    arbitrary: fc
      .constantFrom(...Object.entries(FILES))
      .map(([name, file]) => does<MovingNode>(`reload: ${name}`, (node) => node.reload(file))),
  },
  {
    weight: 8,
    arbitrary: fc
      .oneof(fc.nat(1_000), fc.nat(1_000), fc.nat(1_000), fc.nat(20_000))
      .map((wait) => does<MovingNode>(`wait ${wait}`, ({ world }) => world.advance(wait))),
  },
)

const failing = fc.oneof(
  fc.tuple(fc.constantFrom('add', 'remove'), vip).map(([what, which]) =>
    does<MovingNode>(`${what} ${which} fails`, ({ world }) => {
      world.addressFailures.set(`${what} ${which}`, failure('ENOMEM'))
    }),
  ),
  always('requests succeed', ({ world }) => world.addressFailures.clear()),
  always('nothing can be sent', ({ world }) => {
    world.sendFailure = failure('ENOBUFS')
  }),
  always('all can be sent', ({ world }) => {
    world.sendFailure = undefined
  }),
)

/** Plays a history; the caller checks the daemon on the way. */
function live(
  actions: readonly Action<MovingNode>[],
  after: (node: MovingNode, done: readonly unknown[]) => void,
): void {
  const node = new MovingNode()
  const { world } = node
  world.start()
  for (const [i, act] of actions.entries()) {
    act(node)
    world.settle()
    after(node, actions.slice(0, i + 1))
  }
  node.putInOrder()
  const done = [...actions, 'all in order again']
  expect(node.end, storyOf(world, done)).toEqual(node.wantedEnd)
  expect(node.wrongs, storyOf(world, done)).toEqual([])
  void world.daemon.stop()
  world.advance(20_000)
  expect([world.installed, world.plans.size], storyOf(world, [...done, 'stop()'])).toEqual([[], 0])
  world.daemon.close()
  expect(node.openSockets, storyOf(world, [...done, 'stop()', 'close()'])).toBe(0)
}

test('no change of the network leaves or loses a VIP, and the daemon ends in good order', () => {
  forAll(300, [fc.array(action, { minLength: 10, maxLength: 40, size: 'max' })], (actions) =>
    live(actions, (node, done) => {
      if (node.world.holdNotifications) return
      const { wrongs: found } = node
      // The story of a failure is long, so it is printed once.
      if (found.length > 0) expect.fail(`${found.join('\n')}\nafter\n${storyOf(node.world, done)}`)
    }),
  )
}, 300_000)

test('the daemon also ends in good order after failed requests to the kernel', () => {
  const actions = fc.array(fc.oneof({ weight: 7, arbitrary: action }, { weight: 1, arbitrary: failing }), {
    minLength: 10,
    maxLength: 40,
    size: 'max',
  })
  forAll(300, [actions], (history) => live(history, () => {}))
}, 300_000)
