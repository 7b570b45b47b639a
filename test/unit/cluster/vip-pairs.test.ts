import { describe, expect, test } from 'vitest'
import { isOnPremises } from '../../../src/cluster/decisions/engine/platform.ts'
import { vipPairs } from '../../../src/cluster/decisions/engine/vip-pairs.ts'
import { hostPrefixLength } from '../../../src/config/network.ts'
import { clusterCases } from '../../support/cluster-cases.ts'

type Lists = { readonly apiVips: readonly string[]; readonly ingressVips: readonly string[] }
type Pair = { readonly apiVip: string; readonly ingressVip: string; readonly vipNetmask: number }

describe('VIPs as pairs', () => {
  // Record types belong to CoreDNS, which holdfast does not manage.
  test.each(clusterCases<Lists, readonly Pair[]>('vipPairs').map((one) => [one.id, one] as const))(
    '%s',
    (_, { input, expect: wanted = [] }) => {
      const { pairs, problems } = vipPairs({ api: input.apiVips, ingress: input.ingressVips })
      expect(problems).toEqual([])
      expect(pairs.map(({ index }) => index)).toEqual(wanted.map((_pair, i) => i))
      expect(pairs.map(({ api, ingress }) => ({ apiVip: api ?? '', ingressVip: ingress ?? '' }))).toEqual(
        wanted.map(({ apiVip, ingressVip }) => ({ apiVip, ingressVip })),
      )
      // Upstream's error is not copied: prefix length 128 for an IPv4 pair without an API VIP.
      const lengths = wanted.map(({ apiVip, ingressVip, vipNetmask }) =>
        apiVip === '' && !ingressVip.includes(':') ? 32 : vipNetmask,
      )
      expect(pairs.map(({ family }) => hostPrefixLength(family))).toEqual(lengths)
    },
  )

  test('a VIP without a pair has the family of its own address', () => {
    expect(vipPairs({ api: [], ingress: ['10.0.0.101'] })).toEqual({
      pairs: [{ index: 0, family: 'ipv4', api: undefined, ingress: '10.0.0.101' }],
      problems: [],
    })
    const { pairs } = vipPairs({ api: ['10.0.0.100', 'fd00::64'], ingress: ['10.0.0.101'] })
    expect(pairs[1]).toEqual({ index: 1, family: 'ipv6', api: 'fd00::64', ingress: undefined })
    expect(vipPairs({ api: [], ingress: [] })).toEqual({ pairs: [], problems: [] })
  })

  test('all problems of the lists are reported together', () => {
    const { pairs, problems } = vipPairs({
      api: ['10.0.0.100', '10.0.0.102', 'x', '10.0.0.300'],
      ingress: ['fd00::65', '10.0.0.100', 'fe80::1', '0.0.0.0'],
    })
    expect(pairs).toEqual([])
    expect(problems).toEqual([
      'Cannot use 10.0.0.102 as VIP of API: this service has another IPv4 VIP',
      'VIP of API: cannot use "x", expected an IP address',
      'VIP of API: cannot use "10.0.0.300", expected an IP address',
      'Cannot use fe80::1 as VIP of ingress: it is link-local',
      'Cannot use 0.0.0.0 as VIP of ingress: it is the unspecified address',
      'The VIP 10.0.0.100 is listed twice: a VIP belongs to one virtual router',
      'The VIPs 10.0.0.100 and fd00::65 are a pair (both number 1), but their families differ',
    ])
  })
})

describe('whose VIPs its nodes hold', () => {
  type Words = { readonly installConfigPlatform: string | null; readonly platformType: string }
  test.each(clusterCases<Words, boolean>('isOnPremPlatform').map((one) => [one.id, one] as const))(
    '%s',
    (_, { input, expect: wanted, expectError }) => {
      const found = isOnPremises({ installed: input.installConfigPlatform ?? undefined, given: input.platformType })
      if (expectError === true) expect(found).toMatch(/azure.*AWS/)
      else expect(found).toBe(wanted)
    },
  )

  test('the command line alone decides about the platform', () => {
    expect(isOnPremises({ installed: undefined, given: 'AWS' })).toBe(false)
    expect(isOnPremises({ installed: undefined, given: 'VSphere' })).toBe(true)
  })
})
