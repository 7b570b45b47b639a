/**
 * Priority 255 of a keepalived file (docs/adr/0008): an owner whose addresses are installed and removed like those of
 * any other router. No address may stay behind, and none of the node's own may be removed.
 */
import { describe, expect, test } from 'vitest'
import { FakeWorld, link, PEER, present, ROUTER, type RouterConfig, SELF, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const OWNER: RouterConfig = { ...ROUTER, priority: 255, ownAddresses: 'installed' }
const HERE = `${VIP}/32@2`

type Options = ConstructorParameters<typeof FakeWorld>[1] & { readonly guarded?: boolean }

function started(routers: readonly RouterConfig[] = [OWNER], { guarded = false, ...options }: Options = {}): FakeWorld {
  const world = new FakeWorld(routers, options)
  world.guarded = guarded
  return world.start()
}

const touched = (world: FakeWorld) => world.calls.filter((call) => /^(add|remove)/.test(call))

describe('an owner that installs', () => {
  test('an installing owner is Active at its start, and installs its addresses after the first advertisement', () => {
    const world = started()
    expect([world.router().state, world.router().faults, world.installed]).toEqual(['Active', [], [HERE]])
    expect(world.sent.map(({ priority }) => priority)).toEqual([255])
    const [advertised, added] = [/^advertise/, /^add/].map((word) => world.calls.findIndex((call) => word.test(call)))
    expect(advertised).toBeLessThan(added ?? -1)
    expect(world.plans.get(0)?.remove.map(({ address }) => address)).toEqual([VIP])
    expect(world.plans.get(0)?.packets.length).toBe(1)
    expect(world.router().addresses).toEqual([{ address: VIP, present: true }])
  })

  test('profile keepalived makes an owner install; with ownAddresses: node it is in fault until the node has them', () => {
    const { ownAddresses, ...silent } = OWNER
    expect(ownAddresses).toBe('installed')
    const file = { ...silent, profile: 'keepalived', addresses: [`${VIP}/24`] }
    expect(started([file]).installed).toEqual([`${VIP}/24@2`])
    const node = started([{ ...file, ownAddresses: 'node' }])
    expect([node.router().faults, touched(node)]).toEqual([['sourceAddressMissing'], []])
  })

  test('addresses of an earlier run are swept before an installing owner starts', () => {
    const world = started([OWNER], { present: [present(3, `${VIP}/32`)] })
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
  })

  test('the guardian renews the addresses of an installing owner', () => {
    const world = started([OWNER], { guarded: true })
    expect(world.plans.get(0)?.guard?.renew.map(({ address, lifetime }) => [address, lifetime])).toEqual([[VIP, 4]])
  })

  test('an installing owner installs an address again that another program removed', () => {
    const world = started()
    world.foreign('remove', present(2, HERE.replace('@2', '')))
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
  })

  test('an installing owner sends priority 0 on shutdown and answers until its successor advertises', async () => {
    const world = started()
    world.sent.length = 0
    const stopped = world.daemon.stop()
    expect([world.router().state, world.sent.map(({ priority }) => priority)]).toEqual(['Leaving', [0]])
    expect(world.installed).toEqual([HERE])
    world.hear(100)
    world.advance(30)
    await stopped
    expect(world.installed).toEqual([])
    expect(world.plans.size).toBe(0)
  })

  test('an installing owner without a successor removes its addresses', async () => {
    const world = started()
    const stopped = world.daemon.stop()
    world.advance(10_000)
    await stopped
    expect(world.installed).toEqual([])
  })

  test('an installing owner in fault has no addresses, and is Active with them afterwards', () => {
    const world = started()
    world.setLink(link(2, 'eth0', { running: false }))
    expect([world.router().state, world.installed]).toEqual(['Initialize', []])
    world.setLink(link(2, 'eth0'))
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
  })

  test('an installing owner whose plan was executed listens first', () => {
    const world = started([OWNER], { guarded: true })
    world.execute()
    world.settle()
    expect([world.router().state, world.installed]).toEqual(['Returning', []])
    world.advance(50)
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
    expect(world.plans.get(0)?.remove.length, 'armed again').toBe(1)
  })

  test('an installing owner whose link returns while the guardian is delayed starts like any other router', () => {
    const world = started([OWNER], { guarded: true })
    world.advance(10)
    world.busy = true
    world.execute()
    world.setLink(link(2, 'eth0', { running: false }))
    expect([world.router().state, world.installed]).toEqual(['Initialize', []])
    world.setLink(link(2, 'eth0'))
    expect([world.router().state, world.installed]).toEqual(['Backup', []])
    world.advance(DOWN)
    expect([world.router().state, world.installed], 'still held up').toEqual(['Backup', []])
    world.busy = false
    world.advance(1_000)
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
    expect(world.plans.get(0)?.remove.length, 'armed again').toBe(1)
  })

  test('an installing owner ignores lower routers, and does not yield', () => {
    const world = started()
    for (let second = 0; second < 5; second++) {
      world.hear(254)
      world.advance(1_000)
    }
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
    expect(world.daemon.yield('api', 60_000)).toMatchObject({
      message: 'api owns its addresses (priority 255)',
    })
  })

  test('an installing owner loses to one with a higher address, and has no addresses then', () => {
    const world = started()
    expect(PEER > SELF).toBe(true)
    world.hear(255)
    expect([world.router().state, world.installed]).toEqual(['Backup', []])
    world.hear(0)
    world.advance(DOWN)
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
  })
})

describe('a reload', () => {
  test('a reload removes and adds addresses of an installing owner', () => {
    const world = started([{ ...OWNER, addresses: [VIP, VIP2] }])
    world.reload([OWNER])
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
    world.reload([{ ...OWNER, addresses: [VIP, VIP2] }])
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE, `${VIP2}/32@2`]])
  })

  test('a reload that removes an installing owner leaves no address', () => {
    const world = started()
    world.reload([{ ...ROUTER, name: 'web', vrid: 52, addresses: [VIP2] }])
    world.advance(10_000)
    expect(world.installed).toEqual([`${VIP2}/32@2`])
  })

  test.each([
    ['from 254', { ...OWNER, priority: 254, ownAddresses: undefined }, OWNER],
    ['to 254', OWNER, { ...OWNER, priority: 254, ownAddresses: undefined }],
  ])('%s replaces the router, and each address has one place in the end', (_, before, after) => {
    const world = started([JSON.parse(JSON.stringify(before))])
    world.advance(DOWN)
    expect(world.installed).toEqual([HERE])
    world.reload([JSON.parse(JSON.stringify(after))])
    world.advance(10_000)
    expect([world.router().state, world.installed]).toEqual(['Active', [HERE]])
  })

  test('a reload to ownAddresses: node removes the addresses and waits for the node to have them', () => {
    const world = started()
    world.reload([{ ...OWNER, ownAddresses: 'node' }])
    world.advance(10_000)
    expect([world.router().faults, world.installed]).toEqual([['sourceAddressMissing'], []])
  })
})
