/**
 * What a new configuration means for the routers of the old one (VR-CFG-08), by name: a router keeps its state over
 * everything but a change of what it is. Two texts that say the same are the same: order, comments, and a default that
 * is written out make no difference. A renamed router is another one, because its name is its identity in metrics,
 * logs and commands. This file does not know states, nor what the change is done with.
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
  /** Names of routers; each router of either configuration is in exactly one of these five lists. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /**
   * Another VRID, interface, version, family or source (in IPv6 also multicast or unicast, which come from other addresses), or an
   * owner of addresses (255) that was none, or the reverse.
   */
  readonly recreated: readonly string[]
  /** Parameters, in IPv4 multicast or unicast, announcements, the lifetime, what is done about duplicates, who is notified or what is tracked, the trackers of its sync group included. */
  readonly changed: readonly string[]
  readonly unchanged: readonly string[]
  /** Names, members, trackers or notify programs of sync groups. */
  readonly groupsChanged: boolean
  /** Names of health checks that came, went or mean something else; no router changes for it (docs/adr/0024). */
  readonly checksChanged: readonly string[]
  /** Paths such as `api.listen` whose new value waits for the next start. */
  readonly restartOnly: readonly string[]
  /** The keys that differ, for people. */
  readonly values: readonly ValueChange[]
}

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

/** What a node without interfaces makes of it is what the text alone says, with all defaults filled in. */
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
  // Another source is another socket, and another side of every tie-break.
  const source = sourceOf(router)
  return JSON.stringify([
    router.interface,
    vrid,
    version,
    family,
    // To the group IPv6 goes from a link-local address, to peers from one that they can answer to.
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
    // For interface and source `auto`.
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
