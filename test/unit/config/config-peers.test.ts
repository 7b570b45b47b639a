/** The TTL range of a unicast peer (VR-UC-04): its result, the option that it turns on, and invalid ranges. */
import { describe, expect, test } from 'vitest'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const ROUTER = 'name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false'
const parse = (rest: string) => parseConfig(`virtualRouters:\n  - { ${ROUTER}, ${rest} }\n`)
const unicast = (peers: string) => `transport: { unicast: { peers: ${peers} } }`

function parametersOf(rest: string) {
  const parsed = parse(`ttlCheck: false, ${rest}`)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const [router] = resolveRouters(parsed.config, { interfaces: [] }).routers
  if (router === undefined) throw new Error('no router')
  return router.parameters
}

function said(rest: string): string[] {
  const parsed = parse(rest)
  return ('problems' in parsed ? parsed.problems : parsed.warnings).map((problem) =>
    formatProblem(problem).replace(/^\d+:\d+: /, ''),
  )
}

describe('minTtl and maxTtl', () => {
  test.each([
    ['minTtl: 250, maxTtl: 254', { least: 250, most: 254 }],
    ['minTtl: 250', { least: 250, most: 255 }],
    ['maxTtl: 64', { least: 0, most: 64 }],
    ['priority: 7', undefined],
  ])('%s', (keys, ttl) => {
    const { peers } = parametersOf(unicast(`[{ address: 10.0.0.2, ${keys} }, 10.0.0.3]`))
    expect(peers.map((peer) => peer.ttl)).toEqual([ttl, undefined])
  })

  test('minTtl and maxTtl turn on onlyListedPeers, unless the file sets it', () => {
    const ranged = unicast('[{ address: 10.0.0.2, minTtl: 250 }]')
    expect(parametersOf(ranged).reception.onlyListedPeers).toBe(true)
    expect(parametersOf(`${ranged}, onlyListedPeers: false`).reception.onlyListedPeers).toBe(false)
    expect(parametersOf(unicast('[10.0.0.2]')).reception.onlyListedPeers).toBe(false)
  })

  test.each([
    [
      `ttlCheck: false, ${unicast('[{ address: 10.0.0.2, minTtl: 255, maxTtl: 250 }]')}`,
      'minTtl of 10.0.0.2: cannot use 255, expected a value up to maxTtl (250)',
    ],
    [
      `ttlCheck: true, ${unicast('[{ address: 10.0.0.2, maxTtl: 250 }]')}`,
      'maxTtl of 10.0.0.2: cannot use 250, expected 255, or "ttlCheck: false" in "a"',
    ],
    [
      `ttlCheck: false, ${unicast('[{ address: 10.0.0.2, maxTtl: 256 }]')}`,
      'virtualRouters[0].transport.unicast.peers[0].maxTtl: cannot use 256, expected an integer from 0 to 255',
    ],
  ])('%s', (rest, problem) => expect(said(rest)).toEqual([problem]))

  test('peers of multicast have no TTL range, because multicast requires 255', () => {
    expect(said('peers: [{ address: 10.0.0.2, minTtl: 250 }]')).toEqual([
      expect.stringMatching(/^unknown key "minTtl" in virtualRouters\[0\]\.peers\[0\]/),
    ])
  })
})
