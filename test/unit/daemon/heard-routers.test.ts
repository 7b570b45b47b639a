/** The router behind a MAC: from advertisements, answers and the list of peers, and how long each of them counts. */
import { describe, expect, test } from 'vitest'
import { HeardRouters } from '../../../src/daemon/lan/duplicates/heard-routers.ts'
import { type Address, address } from '../../../src/wire/address.ts'
import { macFromBytes, virtualRouterMac } from '../../../src/wire/mac.ts'
import { millis } from '../../../src/wire/units.ts'

const mac = (last: number) => macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, last))
const host = (last: number): Address => address(`192.0.2.${last}`)
const VIRTUAL = virtualRouterMac(51, 'ipv4')
const at = millis

const fresh = () => new HeardRouters(VIRTUAL)

describe('a name', () => {
  test('a MAC has the name of a source that has advertised, or of a listed peer', () => {
    const routers = fresh()
    routers.note(host(1), 100, at(0))
    expect(routers.name(host(1), mac(1), []), 'heard').toBe(true)
    expect(routers.name(host(1), mac(1), []), 'known already').toBe(false)
    expect(routers.name(host(2), mac(2), [host(2)]), 'listed').toBe(true)
    expect(routers.name(host(3), mac(3), [host(2)]), 'anybody').toBe(false)
    expect(routers.behind(mac(1), at(1))).toEqual({ source: host(1), priority: 100 })
    expect(routers.behind(mac(2), at(1))).toEqual({ source: host(2), priority: undefined })
    expect(routers.behind(mac(3), at(1))).toBeUndefined()
    expect([1, 2, 3].map((last) => routers.isRouter(mac(last), at(1)))).toEqual([true, true, false])
  })

  test('a name moves with its address to another MAC', () => {
    const routers = fresh()
    routers.note(host(1), 100, at(0))
    routers.name(host(1), mac(1), [])
    expect(routers.name(host(1), mac(9), [])).toBe(true)
    expect([routers.behind(mac(1), at(1)), routers.behind(mac(9), at(1))?.source]).toEqual([undefined, host(1)])
  })

  test('the virtual MAC has the name of the router that advertised last', () => {
    const routers = fresh()
    expect(routers.isRouter(VIRTUAL, at(0)), 'an election is going on, whoever it is').toBe(true)
    expect(routers.behind(VIRTUAL, at(0))).toBeUndefined()
    routers.note(host(1), 100, at(0))
    routers.note(host(2), 90, at(10))
    expect(routers.behind(VIRTUAL, at(20))).toEqual({ source: host(2), priority: 90 })
  })
})

describe('a priority', () => {
  test('the priority is the last advertised one, and a release does not change it', () => {
    const routers = fresh()
    routers.name(host(1), mac(1), [host(1)])
    for (const [priority, moment] of [
      [100, 0],
      [120, 10],
      [0, 20],
    ] as const)
      routers.note(host(1), priority, at(moment))
    expect(routers.behind(mac(1), at(30))?.priority).toBe(120)
  })

  test('the priority does not count after 10 minutes, or after it was used', () => {
    const routers = fresh()
    routers.note(host(1), 100, at(0))
    routers.name(host(1), mac(1), [])
    expect(routers.behind(mac(1), at(600_000))?.priority).toBe(100)
    expect(routers.behind(mac(1), at(600_001))).toEqual({ source: host(1), priority: undefined })
    routers.forget(host(1))
    expect(routers.behind(mac(1), at(1))).toBeUndefined()
  })
})

test('a flood of sources leaves the newest eight', () => {
  const routers = fresh()
  for (let last = 1; last <= 200; last++) routers.note(host(last), 100, at(last))
  expect(routers.sources([])).toEqual([193, 194, 195, 196, 197, 198, 199, 200].map(host))
  const peers = Array.from({ length: 50 }, (_, i) => address(`198.51.100.${i + 1}`))
  expect(routers.sources(peers).length).toBe(16)
})
