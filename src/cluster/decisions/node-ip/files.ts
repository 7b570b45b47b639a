/**
 * The files by which other programs of the node learn the node's address, as values. This file decides the names,
 * contents and order of these files. Other code writes the files.
 */
import { type Address, type Family, familyOf } from '../../../wire/address.ts'

export type NodeFacts = {
  readonly chosen: readonly Address[]
  readonly matches: boolean
  /** VIPs and hints of the cluster, as in OpenShift. */
  readonly vips: readonly Address[]
  readonly userManagedLoadBalancer: boolean
  /** Platform as in the Infrastructure resource, in upper or lower case; empty if not known. */
  readonly platform: string
}

/** A file to write on the node. `content` is `undefined` if the file must not exist. */
export type NodeFile = { readonly path: string; readonly content: string | undefined }

const FOLDER = '/run/nodeip-configuration'
/** File that tells other programs that the address of this boot was chosen. */
export const PRIMARY = `${FOLDER}/primary-ip`
const REMOTE_WORKER = `${FOLDER}/remote-worker`
const DROP_IN = (unit: string) => `/etc/systemd/system/${unit}.service.d/20-nodenet.conf`

/**
 * Tells whether the node is in another LAN than the VIPs. keepalived and similar programs must not run on such a node.
 */
export const isRemoteWorker = ({
  matches,
  vips,
  userManagedLoadBalancer,
  platform,
}: Omit<NodeFacts, 'chosen'>): boolean =>
  vips.length > 0 && !matches && !userManagedLoadBalancer && platform.toLowerCase() === 'baremetal'

/**
 * Returns the files that tell other programs the node's address, in the order of writing. The file that announces the
 * choice comes last. Empty if no address was chosen.
 */
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
    // No file of this list ends with a newline, because OpenShift's readers parse the whole file as an address.
    { path: PRIMARY, content: primary },
  ]
}

const unit = (lines: readonly string[]): string => ['[Service]', ...lines, ''].join('\n')
