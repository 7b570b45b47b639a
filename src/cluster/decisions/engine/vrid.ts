/**
 * Computes the VRIDs of an OpenShift cluster from its name. All nodes, and keepalived's monitor beside them, must
 * compute the same VRIDs without communication. A second function finds the VRIDs that two clusters on one LAN share.
 */

export type Service = 'api' | 'ingress'
export type Vrids = Readonly<Record<Service, number>>
/** A VRID that two clusters on one LAN share: the nodes of one cluster accept advertisements of the other cluster. */
export type Collision = { readonly vrid: number; readonly ours: Service; readonly theirs: Service }

const SERVICES: readonly Service[] = ['api', 'ingress']

/** Returns Fletcher's checksum with two sums modulo 15: one of 225 values from 0x00 to 0xee. */
function fletcher8(text: string): number {
  let a = 0
  let b = 0
  for (const byte of Buffer.from(text, 'utf8')) {
    a = (a + byte) % 15
    b = (b + a) % 15
  }
  return (b << 4) | a
}

/**
 * Returns the VRIDs as baremetal-runtimecfg computes them (1 to 239). `undefined` for an empty name, for which
 * baremetal-runtimecfg uses the invalid VRID 0 (RFC 9568 §5.2.3).
 */
export function vridsOf(clusterName: string): Vrids | undefined {
  if (clusterName.trim() === '') return undefined
  const api = fletcher8(`${clusterName}-api`) + 1
  const ingress = fletcher8(`${clusterName}-ingress`) + 1
  // The low halves differ by the ends of the names, so equal VRIDs never occur. OpenShift has this rule as well.
  return { api, ingress: ingress === api ? ingress + 1 : ingress }
}

/**
 * Returns the VRIDs of a cluster name, with the given VRIDs replaced, or a text with the reason why that is impossible.
 */
export function chosenVrids(clusterName: string, given: Readonly<Partial<Vrids>>): Vrids | string {
  const byName = vridsOf(clusterName)
  if (byName === undefined) return 'Cannot compute VRIDs: the name of the cluster is empty'
  const vrids = { ...byName, ...given }
  return vrids.api === vrids.ingress ? `API and ingress cannot both have VRID ${vrids.api}` : vrids
}

/** Returns the VRIDs that two clusters have in common. */
export const collisions = (ours: Vrids, theirs: Vrids): readonly Collision[] =>
  SERVICES.flatMap((our) =>
    SERVICES.filter((their) => ours[our] === theirs[their]).map((their) => ({
      vrid: ours[our],
      ours: our,
      theirs: their,
    })),
  )
