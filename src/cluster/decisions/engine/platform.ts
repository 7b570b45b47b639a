/**
 * Decides whether the nodes of a cluster hold its VIPs, by platform and load balancer. If the platform is unknown, the
 * nodes hold the VIPs, because the agent is started only where they should.
 */
import * as z from 'zod'

/** Platform names as in an install-config. The API writes the same names with other upper and lower case. */
const ON_PREMISES: readonly string[] = ['baremetal', 'vsphere', 'openstack', 'ovirt', 'nutanix']
/**
 * Platforms whose load balancers have the addresses. On None, External and any platform in neither list, the
 * administrator decides: OpenShift's API handles an unknown platform as None.
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

export type PlatformNames = {
  /** Platform in the install-config; `undefined` without an install-config. */
  readonly installed: string | undefined
  /** Name of the platform on the command line; empty if not given. */
  readonly given: string
}

/** Tells whether the platform is on premises. Returns a text if the two names of the platform differ. */
export function isOnPremises({ installed, given }: PlatformNames): boolean | string {
  const one = installed?.toLowerCase()
  const other = given === '' ? undefined : given.toLowerCase()
  if (one !== undefined && other !== undefined && one !== other)
    return `The platform is "${installed}" in the install-config, but "${given}" on the command line`
  const platform = other ?? one
  return platform === undefined || ON_PREMISES.includes(platform)
}

export const ELSEWHERE_REASONS = ['UnsupportedPlatform', 'UserManagedLoadBalancer'] as const

/** Why the nodes of the cluster hold no VIP: a reason for programs, and a text for people. */
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

/** Reads the object Infrastructure `cluster`. `undefined` if the object names no platform. */
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
      elsewhere: elsewhere(
        'UserManagedLoadBalancer',
        `the load balancer of ${name} is ${type}, which has the addresses`,
      ),
    }
  // Without addresses in this object, a vSphere installation is user-provisioned. Installations on other platforms
  // always have addresses there.
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
