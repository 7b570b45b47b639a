/**
 * What must be unique inside one file. Works on the routers that are well formed, so that one bad router does not hide
 * the problems of the others. This file does not know the node (resolve.ts), nor what contradicts itself within one
 * router (contradiction.ts).
 */

import type { VirtualRouter } from '../config.ts'
import { nameOfInterface } from '../holding.ts'
import { familyName, familyOfAll } from '../network.ts'
import { type Locate, type Path, type Problem, problemAt } from '../problem.ts'
import type { ListenAddress } from '../schema/field.ts'
import { trackedName, trackerKey, trackerKind } from '../schema/track.ts'
import { allAddresses } from '../schema/virtual-address.ts'
import { contradictions, type Placed, peerList } from './contradiction.ts'

export type Claim = { readonly key: string; readonly path: Path; readonly message: (line: number) => string }

export function crossCheck(routers: readonly Placed[], locate: Locate): Problem[] {
  return [
    ...repeated(routers.map(nameClaim), locate),
    ...repeated(routers.flatMap(vridClaims), locate),
    ...repeated(routers.flatMap(addressClaims), locate),
    ...routers.flatMap((placed) => [
      ...repeated(trackerClaims(placed.router, placed.path), locate),
      ...repeated(peerClaims(placed), locate),
      ...contradictions(placed, locate),
    ]),
  ]
}

/** /metrics and the status page say who holds what: not for every network by accident. */
export function listenProblems(listen: ListenAddress | false, isPublic: boolean, locate: Locate): Problem[] {
  if (listen === false || isPublic || listen.host.startsWith('127.') || listen.host === '::1') return []
  const message = `Cannot listen on ${listen.host} without "public: true": it is not a loopback address`
  return [problemAt(locate, ['api', 'listen'], 'error', message)]
}

/** The first claim of a key stands, every later one is a problem that names the line of the first. */
export function repeated(claims: readonly Claim[], locate: Locate): Problem[] {
  const first = new Map<string, Path>()
  return claims.flatMap(({ key, path, message }) => {
    const before = first.get(key)
    if (before !== undefined) return [problemAt(locate, path, 'error', message(locate(before).line))]
    first.set(key, path)
    return []
  })
}

export const already = (line: number): string => (line === 0 ? 'already' : `already on line ${line}`)

function nameClaim({ router, path }: Placed): Claim {
  const message = (line: number) =>
    `Cannot use "${router.name}" as the name of two virtual routers: it is used ${already(line)}`
  return { key: router.name, path: [...path, 'name'], message }
}

/** RFC 9568 §5.2.3: per interface and family (VR-MI-01). Two without a name may mean two interfaces: resolve.ts knows. */
function vridClaims({ router, path }: Placed): Claim[] {
  const on = nameOfInterface(router)
  if (on === undefined) return []
  const family = familyName(familyOfAll(router.addresses))
  const message = (line: number) =>
    `Cannot use VRID ${router.vrid} twice for ${family} on "${on}": it is used ${already(line)}`
  return [{ key: `${on} ${family} ${router.vrid}`, path: [...path, 'vrid'], message }]
}

function addressClaims({ router, path }: Placed): Claim[] {
  return allAddresses(router).map(({ entry: { address }, path: at }) => ({
    key: address,
    path: [...path, ...at],
    message: (line) => `Cannot use ${address} twice as a virtual address: it is used ${already(line)}`,
  }))
}

/** Of a router or a sync group. */
export function trackerClaims({ name, track }: Pick<VirtualRouter, 'name' | 'track'>, path: Path): Claim[] {
  return track.map((tracker, index) => ({
    key: trackerKey(tracker),
    path: [...path, 'track', index, trackerKind(tracker)],
    message: (line) => `Cannot track "${trackedName(tracker)}" twice in "${name}": it is tracked ${already(line)}`,
  }))
}

function peerClaims(placed: Placed): Claim[] {
  const { peers = [], path } = peerList(placed)
  return peers.map(({ address }, index) => ({
    key: address,
    path: [...path, index],
    message: (line) => `Cannot list peer ${address} twice in "${placed.router.name}": it is listed ${already(line)}`,
  }))
}
