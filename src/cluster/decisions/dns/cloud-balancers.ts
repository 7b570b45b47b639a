/**
 * The load balancers of a cloud without a DNS service of its own: CoreDNS on the nodes leads the names of the cluster to
 * them, and there is no VIP. This file decides the fields of the templates for them. Pure.
 */
import { refusedValue } from '../../../base/refused-value.ts'
import type { Structure } from '../../../template/value.ts'
import { type Address, familyOf, parseAddress } from '../../../wire/address.ts'

/** Platforms whose load balancers runtimecfg knows. */
const CLOUDS: readonly string[] = ['AWS', 'Azure', 'GCP']

export const CLOUD_FLAGS = ['cloud-ext-lb-ips', 'cloud-int-lb-ips', 'cloud-ingress-lb-ips'] as const
export type CloudLists = Readonly<Record<(typeof CLOUD_FLAGS)[number], readonly string[]>>

/** Addresses at one position of the three lists; `undefined` after the end of a list. */
export type CloudBalancers = Readonly<Record<'api' | 'apiInt' | 'ingress', Address | undefined>>

export const isCloud = (platform: string): boolean => CLOUDS.includes(platform)

/**
 * Returns the addresses of the load balancers, or all problems of the lists. On another platform there are none. The
 * external list may be empty, because a private cluster has no such load balancer.
 */
export function cloudBalancers(
  platform: string,
  lists: CloudLists,
): { readonly balancers: readonly CloudBalancers[]; readonly problems: readonly string[] } {
  const given = CLOUD_FLAGS.filter((flag) => lists[flag].length > 0)
  if (!isCloud(platform)) {
    const wanted = `no address without --platform ${CLOUDS.join(', ')}`
    return { balancers: [], problems: given.map((flag) => refusedValue(`--${flag}`, lists[flag].join(), wanted)) }
  }
  const read = (flag: (typeof CLOUD_FLAGS)[number]) => lists[flag].map((text) => parseAddress(text))
  const problems = given
    .filter((flag) => read(flag).includes(undefined))
    .map((flag) => refusedValue(`--${flag}`, lists[flag].join(), 'IP addresses, separated by commas'))
  const [api, apiInt, ingress] = [read('cloud-ext-lb-ips'), read('cloud-int-lb-ips'), read('cloud-ingress-lb-ips')]
  const count = Math.max(apiInt.length, ingress.length)
  if (count === 0)
    problems.push(refusedValue('--cloud-int-lb-ips', undefined, `an IP address, because the platform is ${platform}`))
  const balancers = Array.from({ length: count }, (_, i) => ({ api: api[i], apiInt: apiInt[i], ingress: ingress[i] }))
  return problems.length > 0 ? { balancers: [], problems } : { balancers, problems }
}

/** Returns the fields of `.Cluster` for load balancers of a cloud; empty lists and types without them. */
export function cloudFields(balancers: CloudBalancers | undefined): Structure {
  const { api, apiInt, ingress } = balancers ?? {}
  const first = apiInt ?? ingress
  const types = first === undefined ? ['', ''] : familyOf(first) === 'ipv6' ? ['AAAA', 'A'] : ['A', 'AAAA']
  return {
    APILBIPs: api === undefined ? [] : [api],
    APIIntLBIPs: apiInt === undefined ? [] : [apiInt],
    IngressLBIPs: ingress === undefined ? [] : [ingress],
    CloudLBRecordType: types[0] ?? '',
    CloudLBEmptyType: types[1] ?? '',
  }
}
