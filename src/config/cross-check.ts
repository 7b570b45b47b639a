/**
 * What one value means for another inside one file: what must be unique, and which pairs contradict each other. Works
 * on the routers that are well formed, so that one bad router does not hide the problems of the others.
 * This file does not know the node: own addresses and existing interfaces are resolve.ts.
 */

import type { VirtualRouter } from './config.ts'
import type { ListenAddress } from './field.ts'
import { type Locate, type Path, type Problem, problemAt } from './problem.ts'

/** A router and where it stands in the file. */
export type Placed = { readonly router: VirtualRouter; readonly path: Path }

type Claim = { readonly key: string; readonly path: Path; readonly message: (line: number) => string }

export function crossCheck(routers: readonly Placed[], locate: Locate): Problem[] {
  return [
    ...repeated(routers.map(nameClaim), locate),
    ...repeated(routers.flatMap(vridClaims), locate),
    ...repeated(routers.flatMap(addressClaims), locate),
    ...routers.flatMap((placed) => [
      ...repeated(trackClaims(placed), locate),
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
function repeated(claims: readonly Claim[], locate: Locate): Problem[] {
  const lines = new Map<string, number>()
  return claims.flatMap(({ key, path, message }) => {
    const first = lines.get(key)
    if (first !== undefined) return [problemAt(locate, path, 'error', message(first))]
    lines.set(key, locate(path).line)
    return []
  })
}

const already = (line: number): string => (line === 0 ? 'already' : `already on line ${line}`)

function nameClaim({ router, path }: Placed): Claim {
  const message = (line: number) =>
    `Cannot use "${router.name}" as the name of two virtual routers: it is used ${already(line)}`
  return { key: router.name, path: [...path, 'name'], message }
}

/** RFC 9568 §5.2.3: per interface and family. Two `auto` may mean two interfaces: resolve.ts knows. */
function vridClaims({ router, path }: Placed): Claim[] {
  if (router.interface === 'auto') return []
  const message = (line: number) =>
    `Cannot use VRID ${router.vrid} twice on "${router.interface}": it is used ${already(line)}`
  return [{ key: `${router.interface} ${router.vrid}`, path: [...path, 'vrid'], message }]
}

function addressClaims({ router, path }: Placed): Claim[] {
  return router.addresses.map(({ address }, index) => ({
    key: address,
    path: [...path, 'addresses', index],
    message: (line) => `Cannot use ${address} twice as a virtual address: it is used ${already(line)}`,
  }))
}

function trackClaims({ router, path }: Placed): Claim[] {
  return router.track.map((tracker, index) => ({
    key: tracker.interface,
    path: [...path, 'track', index, 'interface'],
    message: (line) => `Cannot track "${tracker.interface}" twice in "${router.name}": it is tracked ${already(line)}`,
  }))
}

export function peerList({ router, path }: Placed): { readonly peers: VirtualRouter['peers']; readonly path: Path } {
  return router.transport === 'multicast'
    ? { peers: router.peers, path: [...path, 'peers'] }
    : { peers: router.transport.unicast.peers, path: [...path, 'transport', 'unicast', 'peers'] }
}

function peerClaims(placed: Placed): Claim[] {
  const { peers = [], path } = peerList(placed)
  return peers.map(({ address }, index) => ({
    key: address,
    path: [...path, index],
    message: (line) => `Cannot list peer ${address} twice in "${placed.router.name}": it is listed ${already(line)}`,
  }))
}

function contradictions(placed: Placed, locate: Locate): Problem[] {
  const { router, path } = placed
  const problems: Problem[] = []
  const refuse = (at: Path, message: string) => problems.push(problemAt(locate, at, 'error', message))
  const virtual = new Set<string>(router.addresses.map(({ address }) => address))

  const listed = peerList(placed)
  for (const [index, { address }] of (listed.peers ?? []).entries())
    if (virtual.has(address))
      refuse([...listed.path, index], `Cannot use ${address} as a peer of "${router.name}": it is its virtual address`)

  if (router.transport !== 'multicast') {
    const unicast: Path = [...path, 'transport', 'unicast']
    const { source, peers } = router.transport.unicast
    if (router.peers !== undefined)
      refuse(
        [...path, 'peers'],
        `Cannot use "peers" beside unicast in "${router.name}": it is the hint of multicast, write them under transport.unicast`,
      )
    if (peers.length === 0 && router.profile === 'rfc9568')
      refuse([...unicast, 'peers'], `Cannot run "${router.name}" in unicast without peers: profile rfc9568 refuses it`)
    if (virtual.has(source) && router.priority !== 255)
      refuse([...unicast, 'source'], `Cannot send from ${source}: it is a virtual address of "${router.name}"`)
  }
  return problems
}
