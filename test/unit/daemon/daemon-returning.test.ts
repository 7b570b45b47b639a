/**
 * An Active whose process slept (ground rule 3: a node that was away listens first): it learns of the absence before it
 * reads waiting packets. The returning router removes its addresses, asks the LAN for each, and installs them again
 * after 20 ms without an answer.
 */
import { describe, expect, test } from 'vitest'
import { arpRequest } from '../../../src/arp/arp-packet.ts'
import { address } from '../../../src/wire/address.ts'
import { macBytes, macFromBytes } from '../../../src/wire/mac.ts'
import { FakeWorld, ROUTER, type RouterConfig, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const SLEPT = 3_600
const OTHER_HOST = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 99))
const OUR_MAC = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 2))

function activeWorld(router: RouterConfig = ROUTER): FakeWorld {
  const world = new FakeWorld([router]).start()
  world.advance(DOWN + 1)
  expect(world.router().state, `after ${DOWN} ms of silence: ${world.transitions}`).toBe('Active')
  world.takeCalls()
  return world
}

const said = (calls: readonly string[]) => calls.filter((call) => call.startsWith('advertise'))

function reply(): Uint8Array {
  const [senderAddress, targetAddress] = [address(VIP), address('0.0.0.0')]
  const frame = arpRequest({ senderMac: OTHER_HOST, senderAddress, targetMac: OUR_MAC, targetAddress })
  frame.set(macBytes(OUR_MAC))
  frame[21] = 2
  return frame
}

describe('after a sleep of more than 3 intervals', () => {
  test('a router without another one removes its addresses, asks all hosts for each, and returns after 20 ms', () => {
    const world = activeWorld({ ...ROUTER, addresses: [VIP, VIP2] })
    world.asked.length = 0
    world.stall(SLEPT)
    const away = world.takeCalls()
    expect(said(away), 'what it says before it has listened').toEqual([])
    expect(world.router().state).toBe('Returning')
    expect(world.asked.map(({ to }) => to)).toEqual(['ff:ff:ff:ff:ff:ff', 'ff:ff:ff:ff:ff:ff'])
    expect(Object.keys(world.router().deadlines)).toEqual(['untilInMs'])
    world.advance(19)
    expect(world.router().state).toBe('Returning')
    world.advance(2)
    expect(world.router().state).toBe('Active')
    expect(
      world.router().addresses.every(({ present }) => present),
      'addresses are back',
    ).toBe(true)
    expect(said(world.takeCalls())).toEqual(['advertise eth0 vrid 51 priority 128'])
  })

  test('a waiting advertisement makes a returning router Backup, whatever its priority', () => {
    const world = activeWorld()
    world.now += SLEPT - 100
    world.queueAdvertisement(1)
    world.stall(100)
    expect(world.router().state).toBe('Backup')
    expect(said(world.takeCalls())).toEqual([])
    expect(
      world.router().addresses.some(({ present }) => present),
      'addresses',
    ).toBe(false)
  })

  test('an answer for an address makes a returning router Backup', () => {
    const world = activeWorld()
    world.stall(SLEPT)
    world.hearAnnouncement(reply())
    world.advance(1)
    expect(world.router().state).toBe('Backup')
    expect(world.router().reason).toBe('addressClaimed')
    expect(said(world.takeCalls())).toEqual([])
  })

  test('a stop as first event ends a returning router without a packet', () => {
    const world = activeWorld()
    world.now += SLEPT
    void world.daemon.stop()
    expect(world.router().state).toBe('Initialize')
    expect(said(world.takeCalls())).toEqual([])
    expect(
      world.router().addresses.some(({ present }) => present),
      'addresses',
    ).toBe(false)
  })

  test('a yield as first event is refused with the reason', () => {
    const world = activeWorld()
    world.now += SLEPT
    expect(world.daemon.yield('api', 60_000)?.message).toContain('is returning after an absence')
  })
})

test.each(['holdfast', 'rfc9568'])('profile %s listens before it asks', (profile) => {
  const world = activeWorld({ ...ROUTER, profile })
  let listening: readonly string[] = []
  world.onAsk = () => {
    listening = world.listening
  }
  world.stall(SLEPT)
  expect(world.router().state).toBe('Returning')
  expect(listening).toContain('claims')
})

test('a shorter sleep does not lead to Returning', () => {
  const world = activeWorld()
  world.stall(2_500)
  expect(world.router().state).toBe('Active')
  expect(said(world.takeCalls())).toEqual(['advertise eth0 vrid 51 priority 128'])
})
