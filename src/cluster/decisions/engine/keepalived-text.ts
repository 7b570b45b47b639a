/**
 * Writes the configuration as keepalived.conf. Each line is the same as in the file that OpenShift's templates render
 * for this node, without blank lines. With equal lines the agent can replace keepalived's monitor, and the files can be
 * compared. This file decides the order of the lines.
 */
import type { Desired, Instance, InstanceGroup } from './desired.ts'
import { API_SCRIPTS, GARP_REFRESH, INGRESS_SCRIPTS, TRACKED_SCRIPTS, VIP_LABEL } from './upstream-names.ts'
import type { Service } from './vrid.ts'

type Script = (typeof API_SCRIPTS | typeof INGRESS_SCRIPTS)[number]
type Line = string | readonly [head: string, body: readonly Line[]]

/** Returns the text of keepalived.conf. */
export function keepalivedText(desired: Desired): string {
  const { role, instances, groups, clusterName } = desired
  // With IPv4 and IPv6, keepalived.conf has the sync groups of both services, even if this node has no member of one
  // group.
  const grouped = new Set(groups.flatMap(({ members }) => members))
  const scripts: readonly Script[] = role === 'controlPlane' ? [...API_SCRIPTS, ...INGRESS_SCRIPTS] : INGRESS_SCRIPTS
  const blocks: Line[] = [
    ...(role === 'bootstrap' ? [] : [GLOBALS, ...scripts.map(scriptBlock)]),
    ...groups.map((group) => groupBlock(group, instances)),
    ...byPair(instances).map((instance) => instanceBlock(instance, grouped.has(instance.name))),
  ]
  const head = `# Written by holdfast agent for the cluster ${clusterName}, which replaces the whole file.\n`
  return `${head}${blocks.map((block) => `\n${textOf(block, '')}`).join('')}`
}

const GLOBALS: Line = [
  'global_defs',
  ['enable_script_security', 'script_user root', 'max_auto_priority -1', `${GARP_REFRESH} 60`],
]

function scriptBlock({ name, script, interval, weight, rise, fall }: Script): Line {
  const weighs = weight === undefined ? [] : [`weight ${weight}`]
  return [
    `vrrp_script ${name}`,
    [`script "${script}"`, `interval ${interval}`, ...weighs, `rise ${rise}`, `fall ${fall}`],
  ]
}

const tracking = (service: Service): Line => ['track_script', TRACKED_SCRIPTS[service]]

function groupBlock({ name, members, service }: InstanceGroup, instances: readonly Instance[]): Line {
  const here = members.filter((member) => instances.some((instance) => instance.name === member))
  return [`vrrp_sync_group ${name}`, [['group', here], tracking(service)]]
}

function instanceBlock(instance: Instance, grouped: boolean): Line {
  const { peers, placeholder, vip, prefixLength } = instance
  const listed = peers === 'multicast' ? [] : [...peers, ...(placeholder === undefined ? [] : [placeholder])]
  const unicast: readonly Line[] =
    peers === 'multicast' ? [] : [`unicast_src_ip ${instance.source}`, ['unicast_peer', listed]]
  return [
    `vrrp_instance ${instance.name}`,
    [
      'state BACKUP',
      `interface ${instance.interface}`,
      `virtual_router_id ${instance.vrid}`,
      `priority ${instance.priority}`,
      'advert_int 1',
      ...unicast,
      ['authentication', ['auth_type PASS', `auth_pass ${instance.password}`]],
      ['virtual_ipaddress', [`${vip}/${prefixLength} label ${VIP_LABEL}`]],
      ...(instance.tracked && !grouped ? [tracking(instance.service)] : []),
    ],
  ]
}

/** Sorts virtual routers by pair of VIPs, the API of each pair first, as OpenShift's templates do. */
const byPair = (instances: readonly Instance[]): readonly Instance[] =>
  [...instances].sort((a, b) => a.index - b.index || a.service.localeCompare(b.service))

function textOf(line: Line, indent: string): string {
  if (typeof line === 'string') return `${indent}${line}\n`
  const [head, body] = line
  return `${indent}${head} {\n${body.map((inner) => textOf(inner, `${indent}    `)).join('')}${indent}}\n`
}
