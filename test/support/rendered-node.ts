/**
 * Builds the engine's configuration of a node from the values with which the machine config operator filled its
 * templates (test/samples/keepalived/*.input.json). The rendered configuration only serves to compare texts. The agent
 * derives its configuration from Node objects, not from these values.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Desired, Instance, InstanceGroup, Role } from '../../src/cluster/decisions/engine/desired.ts'
import { type Service, vridsOf } from '../../src/cluster/decisions/engine/vrid.ts'
import { address } from '../../src/wire/address.ts'

type Rendered = {
  readonly Cluster: { Name: string; APIVIP: string; IngressVIP: string; VIPNetmask: number }
  readonly LBConfig: { readonly Backends: readonly { readonly Address: string }[] }
  readonly NonVirtualIP: string
  readonly VRRPInterface: string
  readonly IngressConfig: { readonly Peers: readonly string[] }
  readonly EnableUnicast: boolean
}
type Input = { Platform: string; IPFamilies: string; template: string; Configs: readonly Rendered[] }

const SAMPLES = join(import.meta.dirname, '../samples/keepalived')
const PRIORITY: Readonly<Record<Role, Readonly<Record<Service, number>>>> = {
  bootstrap: { api: 70, ingress: 20 },
  controlPlane: { api: 40, ingress: 20 },
  worker: { api: 40, ingress: 20 },
}

export function renderedNode(name: string): Desired {
  const input = JSON.parse(readFileSync(join(SAMPLES, `${name}.input.json`), 'utf8')) as Input
  const role: Role = input.template.startsWith('bootstrap')
    ? 'bootstrap'
    : input.template.startsWith('worker')
      ? 'worker'
      : 'controlPlane'
  const services: readonly Service[] = { bootstrap: ['api'], controlPlane: ['api', 'ingress'], worker: ['ingress'] }[
    role
  ] as readonly Service[]
  const instances = services.flatMap((service) =>
    input.Configs.map((config, i) => instanceOf(config, i, service, role)),
  )
  const clusterName = input.Configs[0]?.Cluster.Name ?? ''
  const together = input.Platform === 'OpenStack' && input.IPFamilies === 'DualStack' && role !== 'bootstrap'
  const groups = services.map(
    (service): InstanceGroup => ({
      name: `VG_${service.toUpperCase()}`,
      service,
      members: instances.filter((one) => one.service === service).map((one) => one.name),
    }),
  )
  return { clusterName, role, instances, groups: together ? groups : [] }
}

function instanceOf(config: Rendered, index: number, service: Service, role: Role): Instance {
  const { Cluster: cluster, NonVirtualIP: own } = config
  const vrids = vridsOf(cluster.Name)
  if (vrids === undefined) throw new Error('Cannot render a node of a cluster without a name')
  const others = service === 'api' ? config.LBConfig.Backends.map((each) => each.Address) : config.IngressConfig.Peers
  return {
    name: `${cluster.Name}_${service.toUpperCase()}_${index}`,
    service,
    index,
    vip: address(service === 'api' ? cluster.APIVIP : cluster.IngressVIP),
    prefixLength: cluster.VIPNetmask,
    vrid: vrids[service],
    priority: PRIORITY[role][service],
    interface: config.VRRPInterface,
    source: address(own),
    sourceFile: undefined,
    peers: config.EnableUnicast ? others.filter((other) => other !== own).map(address) : 'multicast',
    password: `${cluster.Name}_${service}_vip`,
    tracked: role !== 'bootstrap',
  }
}
