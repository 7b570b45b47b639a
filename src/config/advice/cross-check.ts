/**
 * Refuses values that occur twice in one configuration and must be unique. Every well-formed router is checked, so a
 * bad router does not hide the problems of other routers. This file knows nothing about the node (resolve.ts), and
 * contradictions within one router (contradiction.ts).
 */

import { refusedValue } from '../../base/refused-value.ts'
import type { Config, VirtualRouter } from '../config.ts'
import { nameOfInterface } from '../holding.ts'
import { familyName, familyOfAll } from '../network.ts'
import { type Locate, type Path, type Problem, problemAt } from '../problem.ts'
import type { ListenAddress } from '../schema/field.ts'
import { trackedName, trackerKey, trackerKind } from '../schema/track.ts'
import { allAddresses } from '../schema/virtual-address.ts'
import { contradictions, type Placed, peerList } from './contradiction.ts'

/**
 * A value that may occur once in a configuration, and the message for a second occurrence. `line` is the line of the
 * first occurrence.
 */
export type UniqueValue = { readonly key: string; readonly path: Path; readonly message: (line: number) => string }

/** Returns the problems of values that several routers share, and the contradictions within each router. */
export function crossCheck(routers: readonly Placed[], locate: Locate): Problem[] {
  return [
    ...repeated(routers.map(nameValue), locate),
    ...repeated(routers.flatMap(vridValues), locate),
    ...repeated(routers.flatMap(addressValues), locate),
    ...routers.flatMap((placed) => [
      ...repeated(trackerValues(placed.router, placed.path), locate),
      ...repeated(peerValues(placed), locate),
      ...contradictions(placed, locate),
    ]),
  ]
}

/**
 * Returns a problem if the HTTP server would be reachable from the network without `public: true`. /metrics and the
 * status page name the holder of each address.
 */
export function listenProblems(listen: ListenAddress | false, isPublic: boolean, locate: Locate): Problem[] {
  if (listen === false || isPublic || listen.host.startsWith('127.') || listen.host === '::1') return []
  const message = refusedValue('api.listen', listen.host, 'a loopback address, or "public: true" beside it')
  return [problemAt(locate, ['api', 'listen'], 'error', message)]
}

/** Returns a problem if a crash should be followed by a restart and no clock advertises meanwhile. */
export function crashProblems({ lease, onCrash }: Pick<Config, 'lease' | 'onCrash'>, locate: Locate): Problem[] {
  if (onCrash === 'release' || lease === 'on') return []
  return [
    problemAt(locate, ['onCrash'], 'error', refusedValue('onCrash', onCrash, 'release, or "lease: on" beside it')),
  ]
}

/** Returns a problem for each value that occurs a second time. The message names the line of the first occurrence. */
export function repeated(values: readonly UniqueValue[], locate: Locate): Problem[] {
  const first = new Map<string, Path>()
  return values.flatMap(({ key, path, message }) => {
    const before = first.get(key)
    if (before !== undefined) return [problemAt(locate, path, 'error', message(locate(before).line))]
    first.set(key, path)
    return []
  })
}

/**
 * Returns the text of an error about a value that occurs twice. `line` is the line of the first occurrence; 0 = the
 * value has no line, because it is not from a file.
 */
export const usedTwice = (path: string, value: string, line: number, accepted: string): string =>
  `${path}: cannot use ${value} twice${line === 0 ? '' : ` (first on line ${line})`}, expected ${accepted}`

function nameValue({ router, path }: Placed): UniqueValue {
  const message = (line: number) =>
    usedTwice('name', JSON.stringify(router.name), line, 'another name for each virtual router')
  return { key: router.name, path: [...path, 'name'], message }
}

/**
 * RFC 9568 §5.2.3: a VRID is unique on an interface and family (VR-MI-01). Routers without an interface name are
 * checked in resolve.ts.
 */
function vridValues({ router, path }: Placed): UniqueValue[] {
  const on = nameOfInterface(router)
  if (on === undefined) return []
  const family = familyName(familyOfAll(router.addresses))
  const message = (line: number) =>
    usedTwice(
      `vrid of "${router.name}"`,
      String(router.vrid),
      line,
      `another VRID for each router of ${family} on "${on}"`,
    )
  return [{ key: `${on} ${family} ${router.vrid}`, path: [...path, 'vrid'], message }]
}

function addressValues({ router, path }: Placed): UniqueValue[] {
  return allAddresses(router).map(({ entry: { address }, path: at }) => ({
    key: address,
    path: [...path, ...at],
    message: (line) =>
      usedTwice(`addresses of "${router.name}"`, address, line, 'each virtual address in one place only'),
  }))
}

/** Returns the trackers of a router or a sync group; each may be tracked once. */
export function trackerValues({ name, track }: Pick<VirtualRouter, 'name' | 'track'>, path: Path): UniqueValue[] {
  return track.map((tracker, index) => ({
    key: trackerKey(tracker),
    path: [...path, 'track', index, trackerKind(tracker)],
    message: (line) => usedTwice(`track of "${name}"`, `"${trackedName(tracker)}"`, line, 'one entry for each'),
  }))
}

function peerValues(placed: Placed): UniqueValue[] {
  const { peers = [], path } = peerList(placed)
  return peers.map(({ address }, index) => ({
    key: address,
    path: [...path, index],
    message: (line) => usedTwice(`peers of "${placed.router.name}"`, address, line, 'one entry for each peer'),
  }))
}
