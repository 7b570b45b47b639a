/**
 * What others on the node read of its address: files, as values. Decided here: their names, contents, and which comes last.
 * Refuses to write them.
 */
import { type Address, type Family, familyOf } from '../../../wire/address.ts'

export type NodeFacts = {
  readonly chosen: readonly Address[]
  readonly matches: boolean
  /** Hints among them, as upstream has it. */
  readonly vips: readonly Address[]
  readonly userManagedLoadBalancer: boolean
  /** As the Infrastructure resource calls it, in any case; empty where nobody said. */
  readonly platform: string
}

/** `content` undefined: it must not be there. */
export type NodeFile = { readonly path: string; readonly content: string | undefined }

const FOLDER = '/run/nodeip-configuration'
/** Whoever finds an address here knows that the choice of this boot was made. */
export const PRIMARY = `${FOLDER}/primary-ip`
const REMOTE_WORKER = `${FOLDER}/remote-worker`
const DROP_IN = (unit: string) => `/etc/systemd/system/${unit}.service.d/20-nodenet.conf`

/** Its LAN is not that of the VIPs: keepalived and its like must not run there. */
export const isRemoteWorker = ({
  matches,
  vips,
  userManagedLoadBalancer,
  platform,
}: Omit<NodeFacts, 'chosen'>): boolean =>
  vips.length > 0 && !matches && !userManagedLoadBalancer && platform.toLowerCase() === 'baremetal'

/** In the order of writing: what announces the choice comes when all the rest is there. Empty when nothing was chosen. */
export function nodeFiles(facts: NodeFacts): readonly NodeFile[] {
  const [primary] = facts.chosen
  if (primary === undefined) return []
  const remote = isRemoteWorker(facts)
  const first = (family: Family) => facts.chosen.find((address) => familyOf(address) === family)
  const label = remote ? ['Environment="CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker"'] : []
  return [
    {
      path: DROP_IN('kubelet'),
      content: unit([
        `Environment="KUBELET_NODE_IP=${primary}" "KUBELET_NODE_IPS=${facts.chosen.join(',')}"`,
        ...label,
      ]),
    },
    { path: DROP_IN('crio'), content: unit([`Environment="CONTAINER_STREAM_ADDRESS=${primary}"`]) },
    { path: `${FOLDER}/ipv4`, content: first('ipv4') },
    { path: `${FOLDER}/ipv6`, content: first('ipv6') },
    { path: REMOTE_WORKER, content: remote ? "node ip doesn't match any vip, don't run keepalived" : undefined },
    // No newline anywhere in this folder: upstream's readers parse the whole file as an address.
    { path: PRIMARY, content: primary },
  ]
}

const unit = (lines: readonly string[]): string => ['[Service]', ...lines, ''].join('\n')
