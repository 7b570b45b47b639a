/**
 * Addresses as a target state (docs/architecture.md). Changes by other programs are undone and counted. Changes by the
 * daemon are never taken for foreign ones. Addresses of an earlier run are swept (ground rule 4: no VIP outlives its
 * holder).
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readLedger } from '../../../src/daemon/addresses/ledger-file.ts'
import { FakeWorld, failure, link, present, ROUTER, SELF, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const OTHER = '192.0.2.102'

function activeWorld(): FakeWorld {
  const world = new FakeWorld().start()
  world.advance(DOWN + 1)
  expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
  return world
}

const foreignChanges = (world: FakeWorld) => world.router().counters.foreignChanges

describe('another program', () => {
  test('a VIP of the Active that another program removes is added again and announced', () => {
    const world = activeWorld()
    world.advance(10_000)
    const announced = world.announced.length
    world.foreign('remove', present(2, `${VIP}/32`))
    expect(world.installed).toEqual([`${VIP}/32@2`])
    expect(world.announced.length, 'announced at once').toBe(announced + 1)
    expect(foreignChanges(world)).toEqual({ removed: 1 })
    world.advance(300)
    expect(world.announced.length, 'and again after 50 and 200 ms').toBe(announced + 3)
  })

  test.each([
    ['the interface of the router', 2, 32],
    ['another interface', 3, 32],
    ['the interface of the router with another prefix', 2, 24],
  ])('a VIP that another program adds on a Backup on %s is removed', (_, index, prefix) => {
    const world = new FakeWorld().start()
    world.foreign('add', present(index, `${VIP}/${prefix}`))
    expect(world.installed).toEqual([])
    expect(foreignChanges(world)).toEqual({ added: 1 })
    expect(world.announced).toEqual([])
  })

  test('a second copy of the VIP on another interface is removed, and ours stays', () => {
    const world = activeWorld()
    world.foreign('add', present(3, `${VIP}/24`))
    expect([world.installed, foreignChanges(world)]).toEqual([[`${VIP}/32@2`], { added: 1 }])
  })

  test('a VIP that cannot be added again is retried after 10 ms, then the router resigns', () => {
    const world = activeWorld()
    world.addressFailures.set(`add ${VIP}`, failure('EPERM'))
    const announced = world.announced.length
    world.foreign('remove', present(2, `${VIP}/32`))
    expect(world.router().state).toBe('Active')
    expect(world.announced.length, 'nothing is announced that is not there').toBe(announced)
    world.advance(11)
    expect([world.router().state, world.router().faults]).toEqual(['Initialize', ['addressInstallFailed']])
    expect(world.sent.at(-1)?.priority).toBe(0)
  })

  test('changes of an address that is not a VIP are ignored', () => {
    const world = activeWorld()
    world.takeCalls()
    world.foreign('add', present(2, '192.0.2.77/24'))
    world.foreign('remove', present(2, '192.0.2.77/24'))
    world.foreign('add', present(3, '203.0.113.1/32'))
    expect(world.calls.filter((call) => /^(add|remove)/.test(call))).toEqual([])
  })
})

describe('its own changes are never foreign', () => {
  test('own changes are not foreign when they are reported immediately or late', () => {
    for (const late of [false, true]) {
      const world = new FakeWorld().start()
      world.holdNotifications = late
      world.advance(DOWN + 1)
      world.hear(200)
      world.hear(0)
      world.advance(DOWN)
      world.hear(200)
      // No successor announces itself.
      world.advance(21)
      world.holdNotifications = false
      world.deliver()
      expect([world.router().state, world.installed, foreignChanges(world)], `late: ${late}`).toEqual([
        'Backup',
        [],
        {},
      ])
    }
  })

  test('an address that is added and removed within one turn leaves the target state unchanged', () => {
    const world = new FakeWorld().start()
    world.holdNotifications = true
    world.advance(DOWN + 1)
    world.hear(200)
    world.hear(0)
    world.advance(600)
    expect(world.router().state).toBe('Active')
    world.takeCalls()
    world.deliver()
    expect(world.calls.filter((call) => /^(add|remove)/.test(call))).toEqual([])
    expect([world.installed, foreignChanges(world)]).toEqual([[`${VIP}/32@2`], {}])
  })

  test('a foreign change between our own notifications is corrected', () => {
    const world = new FakeWorld().start()
    world.holdNotifications = true
    world.advance(DOWN + 1)
    world.foreign('remove', present(2, `${VIP}/32`))
    world.holdNotifications = false
    world.settle()
    expect([world.installed, foreignChanges(world)]).toEqual([[`${VIP}/32@2`], { removed: 1 }])
  })

  test('a foreign addition before our removal does not hide a later one', () => {
    const world = activeWorld()
    world.holdNotifications = true
    world.foreign('remove', present(2, `${VIP}/32`))
    world.foreign('add', present(2, `${VIP}/32`))
    world.hear(200)
    world.holdNotifications = false
    world.settle()
    expect([world.router().state, world.installed]).toEqual(['Backup', []])
    world.foreign('add', present(2, `${VIP}/32`))
    expect(world.installed).toEqual([])
    world.hear(0)
    world.advance(600)
    world.foreign('remove', present(2, `${VIP}/32`))
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
  })

  test('any order of foreign and own changes ends in the target state', () => {
    // Tries every sequence of 5 steps, because a fault here depends on the order.
    const steps: readonly ((world: FakeWorld) => void)[] = [
      (world) => world.foreign('add', present(2, `${VIP}/32`)),
      (world) => world.foreign('remove', present(2, `${VIP}/32`)),
      (world) => world.hear(200),
      (world) => {
        world.hear(0)
        world.advance(600)
      },
      (world) => world.deliver(),
    ]
    const wrong: string[] = []
    for (let code = 0; code < steps.length ** 5; code++) {
      const order = Array.from({ length: 5 }, (_, i) => Math.floor(code / steps.length ** i) % steps.length)
      const world = new FakeWorld().start()
      world.hear(200)
      world.holdNotifications = true
      for (const i of order) steps[i]?.(world)
      // A router that has lost answers for 20 ms at most.
      world.advance(21)
      world.holdNotifications = false
      world.settle()
      const wanted = world.router().state === 'Active' ? [`${VIP}/32@2`] : []
      if (world.installed.join() !== wanted.join()) wrong.push(`${order}: ${world.router().state} ${world.installed}`)
    }
    expect(wrong, 'orders that end with the wrong addresses').toEqual([])
  }, 300_000)
})

describe('lost notifications', () => {
  test('after lost notifications the daemon reads links and addresses and restores its own', () => {
    const world = activeWorld()
    world.addresses = world.addresses.filter(({ address }) => address !== VIP)
    world.notify({ kind: 'resync' })
    world.settle()
    expect(world.installed).toEqual([`${VIP}/32@2`])
    world.links.set(2, link(2, 'eth0', { running: false }))
    world.notify({ kind: 'resync' })
    world.settle()
    expect([world.router().faults, world.installed]).toEqual([['linkDown'], []])
  })

  test('after lost notifications a foreign removal is noticed', () => {
    const world = new FakeWorld().start()
    world.holdNotifications = true
    world.advance(DOWN + 1)
    // The notification of our addition is lost as well.
    world.dropNotifications()
    world.notify({ kind: 'resync' })
    world.holdNotifications = false
    world.settle()
    world.foreign('remove', present(2, `${VIP}/32`))
    world.foreign('remove', present(2, `${VIP}/32`))
    expect([world.installed, foreignChanges(world)]).toEqual([[`${VIP}/32@2`], { removed: 2 }])
  })
})

describe('the sweep at start', () => {
  test('the sweep removes configured VIPs on any interface and with any prefix, and no other address', () => {
    const left = [`${VIP}/32`, `${VIP}/24`, '192.0.2.102/32'].map((text) => present(2, text))
    const world = new FakeWorld([ROUTER], { present: [...left, present(3, `${VIP}/25`)] }).start()
    expect(world.installed).toEqual(['192.0.2.102/32@2'])
    expect(
      world.records.filter(({ message }) => message.includes('an earlier run of holdfast installed it')).length,
    ).toBe(3)
    expect(foreignChanges(world)).toEqual({})
  })

  test('the sweep removes VIPs of the ledger only in the installed form', () => {
    const stays = [present(2, `${VIP2}/24`), present(3, `${VIP2}/32`), present(2, '192.0.2.103/32')]
    const world = new FakeWorld([ROUTER], { present: [present(2, `${VIP2}/32`), ...stays] })
    const journal = [
      { address: VIP2, prefixLength: 32, interfaceName: 'eth0' },
      { address: '192.0.2.104', prefixLength: 32, interfaceName: 'eth0' },
    ]
    writeFileSync(join(world.runDirectory, 'addresses.json'), JSON.stringify(journal))
    world.start()
    expect(world.installed).toEqual([`${VIP2}/24@2`, `${VIP2}/32@3`, '192.0.2.103/32@2'].sort())
  })

  test("never an owner's address, not even a journalled one", () => {
    const owner = { ...ROUTER, priority: 255, addresses: [VIP2] }
    const world = new FakeWorld([owner], { present: [present(2, `${VIP2}/32`)] })
    const journal = [{ address: VIP2, prefixLength: 32, interfaceName: 'eth0' }]
    writeFileSync(join(world.runDirectory, 'addresses.json'), JSON.stringify(journal))
    world.start()
    expect([world.installed, world.router().state]).toEqual([[`${VIP2}/32@2`], 'Active'])
  })

  test('a second run removes the VIPs that its configuration no longer has', () => {
    const world = activeWorld()
    world.daemon.close()
    const second = world.life([{ ...ROUTER, addresses: [VIP2] }])
    second.start()
    world.settle()
    expect(world.installed).toEqual([])
    expect(readLedger(world.runDirectory).entries.map(({ address }) => address)).toEqual([VIP2])
  })

  test("an address of a run that stopped in order may become the node's own", () => {
    const world = activeWorld()
    void world.daemon.stop()
    world.advance(10_000)
    expect(world.installed, 'the VIP is gone').toEqual([])
    expect(readLedger(world.runDirectory).entries).toEqual([])
    world.daemon.close()
    world.addresses.push(present(2, `${VIP}/32`))
    world.life([{ ...ROUTER, addresses: [VIP2] }]).start()
    world.settle()
    expect(world.installed).toEqual([`${VIP}/32@2`])
  })

  test('an address that a reload dropped and the node uses itself is not in the ledger after a clean stop', () => {
    const world = activeWorld()
    world.reload([{ ...ROUTER, addresses: [VIP2] }])
    world.advance(DOWN + 1)
    world.foreign('add', present(2, `${VIP}/32`))
    void world.daemon.stop()
    world.advance(10_000)
    expect(world.installed).toEqual([`${VIP}/32@2`])
    expect(readLedger(world.runDirectory).entries).toEqual([])
  })

  test('an address that could not be removed at the stop stays in the ledger', () => {
    const world = activeWorld()
    world.addressFailures.set(`remove ${VIP}`, failure('EPERM'))
    void world.daemon.stop()
    world.advance(10_000)
    expect(readLedger(world.runDirectory).entries.map(({ address }) => address)).toEqual([VIP])
  })

  test.each([
    ['alone', []],
    ['beside another address that an earlier run installed', [OTHER]],
    ['beside a virtual address', [VIP]],
  ])("a journalled address without an own one beside it is the node's own, and is named: %s", (_, others) => {
    const here = [VIP2, ...others].map((each) => present(9, `${each}/32`))
    const world = new FakeWorld([ROUTER], { present: here })
    const path = join(world.runDirectory, 'addresses.json')
    const entry = { prefixLength: 32, interfaceName: 'eth9' }
    writeFileSync(path, JSON.stringify([VIP2, OTHER].map((each) => ({ address: each, ...entry }))))
    world.links.set(9, link(9, 'eth9'))
    world.start()
    expect(world.installed).toContain(`${VIP2}/32@9`)
    expect(world.records.map(({ message }) => message)).toContainEqual(
      `Left ${VIP2}/32 on eth9: an earlier run installed it, but eth9 has no other own address; remove it if it is not the node's own`,
    )
  })

  test.each(['lo', 'kube-ipvs0'])("a VIP on %s is another program's: never removed, in no state", (name) => {
    const world = new FakeWorld([ROUTER], { present: [present(9, `${VIP}/32`)] })
    world.links.set(9, link(9, name))
    world.start()
    expect(world.installed, 'after the sweep').toEqual([`${VIP}/32@9`])
    world.advance(DOWN + 1)
    expect(world.installed.toSorted(), 'as Active').toEqual([`${VIP}/32@2`, `${VIP}/32@9`])
    world.foreign('remove', present(9, `${VIP}/32`))
    world.foreign('add', present(9, `${VIP}/32`))
    world.hear(200)
    world.advance(50)
    expect(world.installed, 'as Backup').toEqual([`${VIP}/32@9`])
    expect(foreignChanges(world)).toEqual({})
  })

  test('an address that cannot be removed is logged and stays in the ledger', () => {
    const world = new FakeWorld([ROUTER], { present: [present(2, `${VIP2}/32`)] })
    const path = join(world.runDirectory, 'addresses.json')
    writeFileSync(path, JSON.stringify([{ address: VIP2, prefixLength: 32, interfaceName: 'eth0' }]))
    world.addressFailures.set(`remove ${VIP2}`, failure('EPERM'))
    world.start()
    expect(
      readLedger(world.runDirectory)
        .entries.map(({ address }) => address)
        .sort(),
    ).toEqual([VIP, VIP2])
    expect(world.records.filter(({ level }) => level === 'error').length).toBe(1)
  })

  test('an unreadable ledger is a warning and does not prevent the start', () => {
    const world = new FakeWorld()
    writeFileSync(join(world.runDirectory, 'addresses.json'), '{ "no": list')
    world.start()
    expect(world.router().state).toBe('Backup')
    expect(world.records.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      expect.stringContaining('addresses.json'),
    ])
  })

  test('the ledger is written before the first address, also if `interface: auto` finds its interface late', () => {
    const world = new FakeWorld([{ ...ROUTER, interface: 'auto' }])
    world.addresses = []
    world.start()
    expect(world.router().faults).toEqual(['interfaceMissing'])
    world.foreign('add', present(2, `${SELF}/24`))
    expect(world.router().state).toBe('Backup')
    expect(readLedger(world.runDirectory).entries).toEqual([{ address: VIP, prefixLength: 32, interfaceName: 'eth0' }])
  })
})
