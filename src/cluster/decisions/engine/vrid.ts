/**
 * The VRIDs of an OpenShift cluster, from its name: all its nodes, and keepalived's monitor beside them, must come to the
 * same ones without asking anybody. Decides which they are, and in which of them two clusters on one LAN collide.
 */

export type Service = 'api' | 'ingress'
export type Vrids = Readonly<Record<Service, number>>
/** One service of each takes the other's advertisements for its own. */
export type Collision = { readonly vrid: number; readonly ours: Service; readonly theirs: Service }

const SERVICES: readonly Service[] = ['api', 'ingress']

/** Fletcher's checksum with two sums modulo 15: 225 values, 0x00 to 0xee. */
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
 * As baremetal-runtimecfg has them (1 to 239). Undefined for an empty name: it goes on with VRID 0 there, which is none
 * (RFC 9568 §5.2.3).
 */
export function vridsOf(clusterName: string): Vrids | undefined {
  if (clusterName.trim() === '') return undefined
  const api = fletcher8(`${clusterName}-api`) + 1
  const ingress = fletcher8(`${clusterName}-ingress`) + 1
  // The low halves differ by the names' ends, so never; the rule is theirs.
  return { api, ingress: ingress === api ? ingress + 1 : ingress }
}

/** Those of the name but for the ones that are given; a string says why not. */
export function chosenVrids(clusterName: string, given: Readonly<Partial<Vrids>>): Vrids | string {
  const byName = vridsOf(clusterName)
  if (byName === undefined) return 'The name of a cluster is not empty'
  const vrids = { ...byName, ...given }
  return vrids.api === vrids.ingress ? `API and ingress cannot both have VRID ${vrids.api}` : vrids
}

export const collisions = (ours: Vrids, theirs: Vrids): readonly Collision[] =>
  SERVICES.flatMap((our) =>
    SERVICES.filter((their) => ours[our] === theirs[their]).map((their) => ({
      vrid: ours[our],
      ours: our,
      theirs: their,
    })),
  )
