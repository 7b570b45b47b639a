/**
 * Writes the daemon's state in keepalived's format, for probes, exporters and people who read its dumps:
 * keepalived.data (SIGUSR1) and keepalived.stats (SIGUSR2), as in version 2.2.7. A dump has only lines for which
 * holdfast has a value, and no password. The functions are pure: they convert a snapshot to a text. This file knows
 * nothing about files and signals.
 */

import type { Config, VirtualRouter } from '../config/config.ts'
import { nameOfInterface } from '../config/holding.ts'
import { hostPrefixLength } from '../config/network.ts'
import { type AddressForm, addressForms } from '../config/schema/virtual-address.ts'
import type { HealthcheckSnapshot } from '../daemon/health/healthcheck-snapshot.ts'
import type { RouterSnapshot, Snapshot } from '../daemon/telemetry/snapshot.ts'
import { familyOf } from '../wire/address.ts'
import { keepalivedCounts, stateName } from './counts.ts'

export type DumpKind = 'data' | 'stats'
export type Dumped = { readonly snapshot: Snapshot; readonly config: Config }
/** An order to write a dump into `file`. */
export type DumpOrder = { readonly kind: DumpKind; readonly file: string; readonly dumped: Dumped }

/** Returns the text of a dump. */
export function keepalivedDump(kind: DumpKind, dumped: Dumped): string {
  const lines = kind === 'data' ? dataLines(dumped) : dumped.snapshot.routers.flatMap(statsLines)
  return lines.map((line) => `${line}\n`).join('')
}

function dataLines({ snapshot, config }: Dumped): readonly string[] {
  const { routers, groups, healthchecks } = snapshot
  const states = new Map(routers.map((router) => [router.name, stateName(router)]))
  return [
    '------< Global definitions >------',
    ` Router ID = ${snapshot.hostname}`,
    ...section(
      'VRRP Topology',
      routers.flatMap((router) => instanceLines(router, config, healthchecks)),
    ),
    ...section(
      'VRRP Sync groups',
      groups.flatMap(({ name, members }) => [
        ` VRRP Sync Group = ${name}, ${states.get(members[0] ?? '') ?? 'INIT'}`,
        '   VRRP member instances :',
        ...members.map((member) => `     ${member}`),
      ]),
    ),
    ...section('VRRP Scripts', healthchecks.flatMap(scriptLines)),
  ]
}

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`------< ${title} >------`, ...lines]

function instanceLines(router: RouterSnapshot, config: Config, healthchecks: Snapshot['healthchecks']): string[] {
  const { name, version, family, group, holder, priority, tracking, addresses, faults } = router
  const state = stateName(router)
  const spec = config.virtualRouters.find((one) => one.name === name)
  const device = router.interface ?? (spec && nameOfInterface(spec)) ?? 'none'
  const peers = peersOf(spec?.transport)
  const lines = [
    ` VRRP Instance = ${name}`,
    `   VRRP Version = ${version}`,
    ...(group === null ? [] : [`   Sync group = ${group}`]),
    ...(family === 'ipv6' ? ['   Using Native IPv6'] : []),
    `   State = ${state}`,
  ]
  if (state === 'BACKUP' && holder.address !== null)
    lines.push(`   Master router = ${holder.address}`, `   Master priority = ${holder.priority ?? 0}`)
  lines.push(
    `   Wantstate = ${state}`,
    `   Number of interface and track script faults = ${faults.length}`,
    ...faults.map((fault) => `   Fault reason = ${fault}`),
    `   Last transition = ${seconds(router.since)} (${router.since})`,
    `   Interface = ${device}`,
    `   Using src_ip = ${router.source ?? '(none)'}`,
  )
  if (peers.length === 0) lines.push(`   Multicast address ${family === 'ipv6' ? 'ff02::12' : '224.0.0.18'}`)
  lines.push(
    `   Virtual Router ID = ${router.vrid}`,
    `   Priority = ${priority.base}`,
    `   Effective priority = ${priority.effective}`,
    `   Total priority = ${tracking.sum}`,
    `   Advert interval = ${interval(router.advertisementIntervalMs)}`,
    ...(spec === undefined ? [] : [`   Preempt = ${spec.preempt ? 'enabled' : 'disabled'}`]),
    ...addressLines(spec, device, new Set(addresses.flatMap(({ address, present }) => (present ? [address] : [])))),
  )
  if (peers.length > 0) lines.push('   Unicast Peer :', ...peers.map(({ address }) => `     ${address}`))
  const scripts = tracked(name, healthchecks)
  if (scripts.length > 0) lines.push('   Tracked scripts :', ...scripts)
  return lines
}

/** Returns the address lines of a dump, in the order of the configuration. */
function addressLines(
  spec: VirtualRouter | undefined,
  device: string,
  present: ReadonlySet<string>,
): readonly string[] {
  if (spec === undefined) return []
  const lines = addressForms(spec).map(
    (form) => `     ${addressLine(form, device)}${present.has(form.address) ? ' set' : ''}`,
  )
  const { length } = spec.addresses
  const excluded = lines.slice(length)
  return [
    `   Virtual IP (${length}):`,
    ...lines.slice(0, length),
    ...(excluded.length === 0 ? [] : ['   Virtual IP Excluded :', ...excluded]),
  ]
}

function addressLine({ address, interfaceName, label, prefixLength }: AddressForm, device: string): string {
  const family = familyOf(address)
  const prefix = prefixLength === hostPrefixLength(family) ? '' : `/${prefixLength}`
  // An IPv6 VIP is deprecated with any prefix length (docs/profiles.md); keepalived's is only with 128 bits.
  const more = family === 'ipv6' ? ' deprecated' : label === undefined ? '' : ` label ${label}`
  return `${address}${prefix} dev ${interfaceName ?? device} scope global${more}`
}

const peersOf = (transport: VirtualRouter['transport'] | undefined) =>
  typeof transport === 'object' && 'unicast' in transport ? transport.unicast.peers : []

function tracked(name: string, healthchecks: Snapshot['healthchecks']): readonly string[] {
  return healthchecks.flatMap((check) =>
    check.routers.some(({ router }) => router === name) ? [`     ${check.name}`] : [],
  )
}

const seconds = (iso: string): string => (Date.parse(iso) / 1000).toFixed(6)
const interval = (ms: number): string => (ms % 1000 === 0 ? `${ms / 1000} sec` : `${ms} milli-sec`)

function scriptLines({ name, target, countsAs, result, routers }: HealthcheckSnapshot): readonly string[] {
  return [
    ` VRRP Script = ${name}`,
    `   Command = '${target}'`,
    `   Status = ${countsAs === 'up' ? 'GOOD' : 'BAD'}`,
    '   Tracking instances :',
    ...routers.map(({ router, adds }) => `     ${router}, adds ${adds}`),
    `   State = ${result === 'unknown' ? 'running' : 'idle'}`,
  ]
}

function statsLines(router: RouterSnapshot): readonly string[] {
  const counts = keepalivedCounts(router)
  return [
    `VRRP Instance: ${router.name}`,
    '  Advertisements:',
    `    Received: ${counts.received}`,
    `    Sent: ${counts.sent}`,
    `  Became master: ${counts.begun}`,
    `  Released master: ${counts.ended}`,
    '  Packet Errors:',
    `    Length: ${counts.length}`,
    `    TTL: ${counts.ttl}`,
    `    Invalid Type: ${counts.type}`,
    `    Advertisement Interval: ${counts.interval}`,
    `    Address List: ${counts.addressList}`,
    '  Authentication Errors:',
    `    Invalid Type: ${counts.authenticationInvalid}`,
    `    Type Mismatch: ${counts.authenticationMismatch}`,
    `    Failure: ${counts.authenticationFailure}`,
    '  Priority Zero:',
    `    Received: ${counts.zeroReceived}`,
    `    Sent: ${counts.zeroSent}`,
  ]
}
