/**
 * Whether this is a cluster whose VIPs its own nodes hold, by what the install-config and whoever started us say of the
 * platform. Nothing said: it is, because nobody starts this elsewhere.
 */

/** Names as in an install-config; the API's own are these in other cases. */
const ON_PREMISES: readonly string[] = ['baremetal', 'vsphere', 'openstack', 'ovirt', 'nutanix']

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
