/** What `announce` and `transport` of a file come to, by profile. */
import { describe, expect, test } from 'vitest'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { advertisementDatagrams } from '../../../src/vrrp/transmit.ts'
import { address } from '../../../src/wire/address.ts'

const NODE = {
  interfaces: [
    {
      name: 'eth0',
      addresses: [
        { address: address('10.0.0.11'), prefixLength: 24 },
        { address: address('10.0.0.12'), prefixLength: 24 },
        { address: address('fe80::11'), prefixLength: 64 },
      ],
    },
  ],
}

function parsed(keys: Readonly<Record<string, unknown>>) {
  const router = { name: 'a', vrid: 1, interface: 'eth0', addresses: ['10.0.0.200'], ...keys }
  return parseConfig(JSON.stringify({ virtualRouters: [router] }))
}

function resolved(keys: Readonly<Record<string, unknown>>) {
  const read = parsed(keys)
  if ('problems' in read) throw new Error(read.problems.map(formatProblem).join('\n'))
  const [router] = resolveRouters(read.config, NODE).routers
  if (router === undefined) throw new Error('no router')
  return router
}

const errors = (keys: Readonly<Record<string, unknown>>) => {
  const read = parsed(keys)
  return 'problems' in read ? read.problems.filter(({ severity }) => severity === 'error').map((p) => p.message) : []
}

const times = (copies: number, at: number) => Array.from({ length: copies }, () => at)
const like = { profile: 'keepalived' }

describe('announce', () => {
  test('profile keepalived announces 5 times at the takeover and 5 times after 5 s, without a refresh (VR-GARP-01, -02)', () => {
    expect(resolved(like).announce).toMatchObject({ at: [...times(5, 0), ...times(5, 5000)], refresh: undefined })
  })

  test('and over a rival the same, with the repeats of holdfast among them (VR-GARP-04; docs/architecture.md, Competing Actives)', () => {
    expect(resolved(like).announce.onRival).toEqual([...times(5, 0), 50, 200, ...times(5, 5000)])
    expect(resolved({ ...like, addresses: ['fd00::1'] }).announce.onRival).toEqual([
      ...times(5, 0),
      1000,
      2000,
      ...times(5, 5000),
    ])
  })

  test('the key onRival replaces the whole schedule for a competing Active', () => {
    const over = (onRival: unknown, profile = 'keepalived') =>
      resolved({ profile, announce: { onRival } }).announce.onRival
    expect(over({ copies: 2, delay: '1s' })).toEqual([0, 0, 1000, 1000])
    expect(over({ copies: 2 }, 'holdfast')).toEqual([0, 0])
    expect(over({ copies: 0 })).toEqual([])
    expect(resolved({}).announce.onRival, 'holdfast has its own').toBeUndefined()
  })

  test('copies, refreshCopies and spacing of a file are in the schedule', () => {
    const announce = {
      at: ['0ms', '1s'],
      copies: 2,
      refresh: '10s',
      refreshCopies: 3,
      spacing: '1ms',
      spacingNa: '0ms',
    }
    expect(resolved({ announce }).announce).toMatchObject({
      at: [0, 0, 1000, 1000],
      refresh: 10_000,
      refreshCopies: 3,
      spacing: { ipv4: 1, ipv6: undefined },
    })
  })
})

describe('transport', () => {
  test('a multicast source is the source address, decides ties, and must exist on the node', () => {
    const from = (source: string) => resolved({ transport: { multicast: { source } } })
    expect(from('10.0.0.12')).toMatchObject({ source: '10.0.0.12', parameters: { transport: { mode: 'multicast' } } })
    expect(resolved({}).source).toBe('10.0.0.11')
    expect(from('10.0.0.13')).toMatchObject({ source: undefined, fault: 'sourceAddressMissing' })
  })

  test('a multicast source must have the family of the addresses, and must not be a virtual address', () => {
    expect(errors({ transport: { multicast: { source: 'fd00::1' } } })).toEqual([
      'source of "a": cannot use "fd00::1", expected an IPv4 address, like the virtual addresses',
    ])
    expect(errors({ transport: { multicast: { source: '10.0.0.200' } } })).toEqual([
      'source of "a": cannot use "10.0.0.200", expected an address that is not virtual',
    ])
  })

  test('a transport with both unicast and multicast is refused', () => {
    const both = { multicast: { source: 'auto' }, unicast: { peers: ['10.0.0.2'] } }
    expect(errors({ transport: both })).toEqual([
      'virtualRouters[0].transport: cannot use a mapping, expected either unicast or multicast',
    ])
    expect(errors({ transport: {} })).toEqual([
      'virtualRouters[0].transport: cannot use a mapping, expected unicast or multicast',
    ])
  })

  test('the unicast TTL of a file is in the parameters; the default of 255 is left out', () => {
    const sent = (ttl?: number) => {
      const unicast = { peers: ['10.0.0.2', '10.0.0.3'], ...(ttl === undefined ? {} : { ttl }) }
      return advertisementDatagrams(resolved({ transport: { unicast } }).parameters, 100).map(
        (datagram) => datagram.ttl,
      )
    }
    expect([sent(3), sent(255), sent()]).toEqual([
      [3, 3],
      [undefined, undefined],
      [undefined, undefined],
    ])
    expect(errors({ transport: { unicast: { peers: ['10.0.0.2'], ttl: 0 } } })).toEqual([
      'virtualRouters[0].transport.unicast.ttl: cannot use 0, expected an integer from 1 to 255',
    ])
  })
})
