/**
 * Compares two configurations and tells what the new configuration means for each router (VR-CFG-08). A router keeps
 * its state unless its identity changes: VRID, interface, version, family or source address. Order, comments and
 * defaults that are written out make no difference. A renamed router is another router, because metrics, logs and
 * commands use the name. This file knows nothing about states, and how a change takes effect.
 */
import type { Transport } from '../vrrp/parameters.ts'
import { familyOf } from '../wire/address.ts'
import { checksOf, nameOf } from './checks.ts'
import type { Config, SyncGroup, VirtualRouter } from './config.ts'
import { type ResolvedRouter, resolveRouters } from './resolve.ts'
import { sourceOf } from './schema/transport.ts'
import { ownAddressesOf } from './schema/virtual-address.ts'
import { type ValueChange, valueChanges } from './value-diff.ts'

export type ConfigDiff = {
  /**
   * Names of the new routers. Each router of either configuration is in exactly one of five lists: added, removed,
   * recreated, changed, unchanged.
   */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /**
   * Routers with another VRID, interface, version, family or source address, and routers that become or stop being an
   * address owner (255). In IPv6, also a change between multicast and unicast, because those use different source
   * addresses.
   */
  readonly recreated: readonly string[]
  /**
   * Routers whose settings differ between the old and the new configuration: parameters, announcements, address
   * lifetime, notify programs or trackers. Trackers of a router's sync group count as its own. In IPv4 a change between
   * multicast and unicast counts too.
   */
  readonly changed: readonly string[]
  readonly unchanged: readonly string[]
  /** True if names, members, trackers or notify programs of sync groups differ. */
  readonly groupsChanged: boolean
  /**
   * Names of health checks that were added, removed or changed. The routers themselves are unchanged (docs/adr/0024).
   */
  readonly checksChanged: readonly string[]
  /** Paths of changed keys, such as `api.listen`, whose new value the daemon uses only after its next start. */
  readonly restartOnly: readonly string[]
  /** Changed configuration keys with their values, as text for people. */
  readonly values: readonly ValueChange[]
}

/** Compares two configurations and returns their differences. */
export function diffConfig(old: Config, next: Config): ConfigDiff {
  const before = fingerprints(old)
  const after = fingerprints(next)
  const both = [...after].flatMap(([name, now]) => {
    const then = before.get(name)
    return then === undefined ? [] : [{ name, then, now }]
  })
  const named = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)
  const sameKind = both.filter(({ then, now }) => then.kind === now.kind)
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    recreated: named(both.filter(({ then, now }) => then.kind !== now.kind)),
    changed: named(sameKind.filter(({ then, now }) => then.rest !== now.rest)),
    unchanged: named(sameKind.filter(({ then, now }) => then.rest === now.rest)),
    groupsChanged: groupsOf(old) !== groupsOf(next),
    checksChanged: checksChanged(old, next),
    restartOnly: atStartOnly(old).flatMap(([path, value], i) => (atStartOnly(next)[i]?.[1] === value ? [] : [path])),
    values: valueChanges(old, next),
  }
}

type Fingerprint = { readonly kind: string; readonly rest: string }

/**
 * Returns two texts for each router: its identity and its settings. Routers are resolved on a node without interfaces.
 * On such a node the two texts contain only the configuration, with all defaults.
 */
function fingerprints(config: Config): ReadonlyMap<string, Fingerprint> {
  const resolved = new Map(resolveRouters(config, { interfaces: [] }).routers.map((router) => [router.name, router]))
  return new Map(
    config.virtualRouters.flatMap((router) => {
      const { name } = router
      const meant = resolved.get(name)
      return meant === undefined ? [] : [[name, { kind: kindOf(router, meant), rest: restOf(router, meant) }]]
    }),
  )
}

function kindOf(router: VirtualRouter, { parameters }: ResolvedRouter): string {
  const { vrid, version, family, transport, priority } = parameters
  // The source address belongs to the identity: a changed source address needs another socket, and changes the election
  // between equal priorities.
  const source = sourceOf(router)
  return JSON.stringify([
    router.interface,
    vrid,
    version,
    family,
    // In IPv6, multicast has a link-local source address. Unicast has a source address that the peers can answer.
    family === 'ipv6' ? transport.mode : undefined,
    source,
    priority === 255,
    ownAddressesOf(router),
  ])
}

function restOf({ addresses, lifetime }: VirtualRouter, { forms, ...resolved }: ResolvedRouter): string {
  const { parameters, announce, announceOther, configuredFault, track, onDuplicate, duplicateAllowed, notify } =
    resolved
  const { family, peers, transport } = parameters
  return JSON.stringify([
    { ...parameters, peers: inAnyOrder(peers), transport: [transport.mode, ttlOf(transport)] },
    announce,
    parameters.addresses.some((each) => familyOf(each) !== family) ? announceOther : undefined,
    forms,
    lifetime,
    inAnyOrder(track),
    onDuplicate,
    notify,
    inAnyOrder(duplicateAllowed),
    configuredFault,
    // The prefix lengths of the addresses matter if interface and source address are `auto`.
    addresses.map(({ prefixLength }) => prefixLength),
  ])
}

const ttlOf = (transport: Transport): number | undefined => (transport.mode === 'unicast' ? transport.ttl : undefined)

const groupsOf = ({ syncGroups }: Config): string =>
  JSON.stringify(
    inAnyOrder(
      syncGroups.map(({ name, members, track, notify }: SyncGroup) => ({
        name,
        members: inAnyOrder(members),
        track: inAnyOrder(track),
        notify,
      })),
    ),
  )

function checksChanged(old: Config, next: Config): readonly string[] {
  const texts = (config: Config) => new Map(checksOf(config).map((check) => [nameOf(check), JSON.stringify(check)]))
  const [before, after] = [texts(old), texts(next)]
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
}

const inAnyOrder = (values: readonly unknown[]): readonly string[] =>
  values.map((value) => JSON.stringify(value)).sort()

function atStartOnly({ runDirectory, api, journal, io }: Config): readonly (readonly [string, string])[] {
  return [
    ['runDirectory', runDirectory],
    ['api.socket', api.socket],
    ['api.listen', api.listen === false ? 'off' : `${api.listen.host} ${api.listen.port}`],
    ['api.public', String(api.public)],
    ['api.metricsCompat', api.metricsCompat],
    ['journal', `${journal.file} ${journal.maxSize}`],
    ['api.peers', api.peers.length === 0 ? 'none' : api.peers.join(' ')],
    ['io', io],
  ]
}
