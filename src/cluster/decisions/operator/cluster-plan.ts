/**
 * Reads OpenShift's Infrastructure for the operator: the VIPs of the cluster, and the reason why there is nothing to
 * operate. This file decides on which platforms the operator works (docs/adr/0099). Pure.
 */
import * as z from 'zod'
import { type Address, parseAddress } from '../../../wire/address.ts'
import { isHostName } from '../dns/dns-name.ts'
import { type Elsewhere, isOnPremises, vipsElsewhere } from '../engine/platform.ts'

export type ClusterPlan = {
  /** Type of the platform, as the API writes it. */
  readonly platform: string
  /** Reason why the nodes of this cluster hold no VIP; `undefined` if they hold the VIPs. */
  readonly elsewhere: Elsewhere | undefined
  readonly apiVips: readonly Address[]
  readonly ingressVips: readonly Address[]
  /** Name at which the nodes reach the API, such as `api-int.ostest.example.com`; `undefined` if it is not known. */
  readonly apiInt: string | undefined
  /** Namespace of the static pods of this platform; `undefined` for a platform without such pods. */
  readonly infraNamespace: string | undefined
  /** Values in Infrastructure that cannot be used, each with its path. */
  readonly problems: readonly string[]
}

/** Namespaces in which the Machine Config Operator runs its pods, by platform. */
const INFRA_NAMESPACES: Readonly<Record<string, string>> = {
  baremetal: 'openshift-kni-infra',
  vsphere: 'openshift-vsphere-infra',
  openstack: 'openshift-openstack-infra',
  ovirt: 'openshift-ovirt-infra',
  nutanix: 'openshift-nutanix-infra',
}

const texts = z.array(z.string()).optional().catch(undefined)
const text = z.string().min(1).optional().catch(undefined)
const statusSchema = z.object({
  platform: text,
  platformStatus: z.looseObject({ type: text }).optional().catch(undefined),
  apiServerInternalURI: text,
})
const placeSchema = z
  .object({ apiServerInternalIPs: texts, apiServerInternalIP: text, ingressIPs: texts, ingressIP: text })
  .catch({})

/** Returns what the object Infrastructure says about the VIPs; `undefined` if the object names no platform. */
export function readClusterPlan(object: unknown): ClusterPlan | undefined {
  const read = z.object({ status: statusSchema }).safeParse(object)
  const answer = vipsElsewhere(object)
  if (!read.success || answer === undefined) return undefined
  const { apiServerInternalURI, platform: older, platformStatus } = read.data.status
  const platform = platformStatus?.type ?? older ?? ''
  const key = platform.toLowerCase()
  const place = placeSchema.parse(platformStatus?.[key] ?? {})
  const problems: string[] = []
  const vips = (field: string, many: readonly string[] | undefined, one: string | undefined): readonly Address[] =>
    // An empty list does not hide the older field.
    (many?.length ? many : one === undefined ? [] : [one]).flatMap((each, i) => {
      const address = parseAddress(each)
      if (address === undefined)
        problems.push(`status.platformStatus.${key}.${field}[${i}]: ${JSON.stringify(each)}, expected an IP address`)
      return address ?? []
    })
  const apiVips = vips('apiServerInternalIPs', place.apiServerInternalIPs, place.apiServerInternalIP)
  const ingressVips = vips('ingressIPs', place.ingressIPs, place.ingressIP)
  const elsewhere = answer.elsewhere ?? unsupported(platform)
  if (elsewhere === undefined && apiVips.length === 0)
    problems.push(`status.platformStatus.${key}.apiServerInternalIPs: required, a list of IP addresses`)
  return {
    ...{ platform, elsewhere, apiVips, ingressVips, problems, apiInt: hostOf(apiServerInternalURI) },
    infraNamespace: INFRA_NAMESPACES[key],
  }
}

/** Returns the reason why the operator does nothing on a platform. Agents there have VIPs that were given by hand. */
const unsupported = (platform: string): Elsewhere | undefined =>
  isOnPremises({ installed: platform, given: '' }) === true
    ? undefined
    : {
        reason: 'UnsupportedPlatform',
        message: `the platform is ${platform}, whose Infrastructure names no virtual addresses of the nodes`,
      }

/** Returns the host of a URL. The host becomes a part of a shell's command in a pod, so it must be a name in DNS. */
function hostOf(uri: string | undefined): string | undefined {
  const [, host] = /^https:\/\/([^/:[\]]+)(?::\d+)?\/?$/.exec(uri ?? '') ?? []
  return host !== undefined && isHostName(host) ? host : undefined
}
