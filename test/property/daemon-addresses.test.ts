/**
 * Other programs change the daemon's addresses, and the kernel's notifications come at any time. After all events the
 * kernel's addresses and the daemon's own record equal the router's state. The node is simulated
 * (test/unit/daemon/fake-world.ts).
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forAll } from '../support/for-all.ts'
import { FakeWorld, link, present, ROUTER, VIP } from '../unit/daemon/fake-world.ts'

const DOWN = 3_500

const action = fc.oneof(
  fc.constantFrom('foreignAdd', 'foreignRemove', 'foreignWide', 'linkDown', 'linkUp', 'rename', 'renameBack'),
  fc.constantFrom('hold', 'release', 'betterActive', 'release', 'wait', 'wait', 'silence'),
)

function perform(world: FakeWorld, what: string): void {
  switch (what) {
    case 'foreignAdd':
      return world.foreign('add', present(2, `${VIP}/32`))
    case 'foreignRemove':
      return world.foreign('remove', present(2, `${VIP}/32`))
    case 'foreignWide':
      return world.foreign('add', present(2, `${VIP}/24`))
    case 'linkDown':
      return world.setLink(link(2, 'eth0', { running: false }))
    case 'linkUp':
    case 'renameBack':
      return world.setLink(link(2, 'eth0'))
    case 'rename':
      // The kernel reports every address of a renamed interface again.
      world.setLink(link(2, 'ethX'))
      for (const one of world.addresses) world.notify({ kind: 'addressAdded', present: one })
      return
    case 'hold':
      world.holdNotifications = true
      return
    case 'release':
      world.holdNotifications = false
      return world.deliver()
    case 'betterActive':
      if (world.sockets.some(({ closed }) => !closed)) world.hear(200)
      return
    case 'wait':
      return world.advance(50)
    case 'silence':
      return world.advance(DOWN + 1)
  }
}

test('kernel, state and status agree after other programs have changed the addresses', () => {
  forAll(300, [fc.array(action, { maxLength: 25 }), fc.constantFrom(128, 255)], (actions, priority) => {
    const world = new FakeWorld([{ ...ROUTER, priority, ownAddresses: 'installed' }]).start()
    for (const one of actions) perform(world, one)
    perform(world, 'release')
    perform(world, 'renameBack')
    world.advance(DOWN + 1_000)
    const { state, addresses } = world.router()
    const has = world.addresses.filter(({ address }) => address === VIP).map(({ prefixLength }) => prefixLength)
    const said = addresses.map((one) => one.present)
    expect([state, has, said], `${priority} after ${actions.join(', ')}`).toEqual(
      state === 'Active' ? ['Active', [32], [true]] : [state, [], [false]],
    )
    expect(state, 'alone on the LAN at last').toBe('Active')
  })
})
