/**
 * Whether the nodes of a cluster hold its VIPs, by its platform and its load balancer. Nothing said: they do, because nobody
 * starts this elsewhere. Refuses to know what is done about it, and how Infrastructure is read.
 */
import * as z from 'zod'

/** Names as in an install-config; the API's own are these in other cases. */
const ON_PREMISES: readonly string[] = ['baremetal', 'vsphere', 'openstack', 'ovirt', 'nutanix']
/**
 * Their load balancers have the addresses. None, External and each platform that is in neither list are the administrator's:
 * OpenShift's API wants an unknown platform to be handled as None.
 */
const CLOUDS: readonly string[] = [
  'alibabacloud',
  'aws',
  'azure',
  'equinixmetal',
  'gcp',
  'ibmcloud',
  'kubevirt',
  'powervs',
]

export type PlatformWords = {
  /** Undefined: no install-config. */
  readonly installed: string | undefined
  /** As on a command line; empty: not said. */
  readonly given: string
}

/** A string says how they contradict each other. */
export function isOnPremises({ installed, given }: PlatformWords): boolean | string {
  const one = installed?.toLowerCase()
  const other = given === '' ? undefined : given.toLowerCase()
  if (one !== undefined && other !== undefined && one !== other)
    return `The install-config has the platform "${installed}", "${given}" was given`
  const platform = other ?? one
  return platform === undefined || ON_PREMISES.includes(platform)
}

export const ELSEWHERE_REASONS = ['UnsupportedPlatform', 'UserManagedLoadBalancer'] as const

/** Why the nodes hold no VIP: a reason for programs, a sentence for people. */
export type Elsewhere = { readonly reason: (typeof ELSEWHERE_REASONS)[number]; readonly message: string }

const word = z.string().min(1).optional().catch(undefined)
const placeSchema = z.object({
  loadBalancer: z.object({ type: word }).catch({}).default({}),
  apiServerInternalIPs: z.array(z.string()).catch([]).default([]),
  apiServerInternalIP: word,
})
const statusSchema = z.object({
  platform: word,
  platformStatus: z.looseObject({ type: word }).optional().catch(undefined),
})
const infrastructureSchema = z.object({ status: statusSchema })
const DEFAULT_LOAD_BALANCER = 'OpenShiftManagedDefault'

/** Reads the object Infrastructure `cluster`. `undefined`: it names no platform, so nothing is known. */
export function vipsElsewhere(object: unknown): { readonly elsewhere: Elsewhere | undefined } | undefined {
  const read = infrastructureSchema.safeParse(object)
  if (!read.success) return undefined
  const { platform, platformStatus } = read.data.status
  const name = platformStatus?.type ?? platform
  if (name === undefined) return undefined
  const key = name.toLowerCase()
  if (CLOUDS.includes(key))
    return {
      elsewhere: elsewhere('UnsupportedPlatform', `the platform is ${name}, whose load balancers have the addresses`),
    }
  if (!ON_PREMISES.includes(key) || platformStatus === undefined) return { elsewhere: undefined }
  const place = placeSchema.safeParse(platformStatus[key] ?? {})
  if (!place.success) return { elsewhere: undefined }
  const { apiServerInternalIP, apiServerInternalIPs, loadBalancer } = place.data
  const { type = DEFAULT_LOAD_BALANCER } = loadBalancer
  if (type !== DEFAULT_LOAD_BALANCER)
    return {
      elsewhere: elsewhere('UserManagedLoadBalancer', `the load balancer of ${name} is ${type}: it has the addresses`),
    }
  // An installation on vSphere by the user has no addresses there; on the other platforms they are never left out.
  if (key === 'vsphere' && apiServerInternalIPs.length === 0 && apiServerInternalIP === undefined)
    return {
      elsewhere: elsewhere(
        'UserManagedLoadBalancer',
        `${name} has no apiServerInternalIPs: a load balancer of the user has the addresses`,
      ),
    }
  return { elsewhere: undefined }
}

const elsewhere = (reason: Elsewhere['reason'], message: string): Elsewhere => ({ reason, message })
