/**
 * The rows of the interop matrix as values: the neighbour, the protocol, the transport, and the router with the higher
 * priority. Decides which cells exist (FRR has neither unicast nor passwords, keepalived has both) and their timing.
 * This file does not know the steps of a row (matrix.ts).
 */
import type { DaemonKind } from '../../src/lab/daemons/daemon.ts'

export const PROTOCOLS = ['v3 IPv4', 'v3 IPv6', 'v2 PASS IPv4'] as const
export type Protocol = (typeof PROTOCOLS)[number]
export type Transport = 'multicast' | 'unicast'
export type Neighbour = 'keepalived' | 'frr'

export type Match = {
  /** Whether multicast routers list each other's address. */
  readonly listed?: boolean
  readonly protocol: Protocol
  readonly transport: Transport
  readonly high: DaemonKind
  readonly low: DaemonKind
  /** Beginning of the names of the row's tests. */
  readonly name: string
}

const CELLS: Readonly<Record<Neighbour, Readonly<Record<Protocol, readonly Transport[]>>>> = {
  keepalived: {
    'v3 IPv4': ['multicast', 'unicast'],
    'v3 IPv6': ['multicast', 'unicast'],
    'v2 PASS IPv4': ['multicast', 'unicast'],
  },
  frr: { 'v3 IPv4': ['multicast'], 'v3 IPv6': ['multicast'], 'v2 PASS IPv4': [] },
}

export const PRIORITY = { high: 200, low: 100 } as const

/** Returns the interval in ms. Version 2 has whole seconds only. */
export const intervalOf = (protocol: Protocol): number => (protocol === 'v2 PASS IPv4' ? 1_000 : 100)

/** Returns Skew_Time of RFC 9568 §6.1. In version 2 it is not scaled by the interval (RFC 3768 §6.1). */
export function skewTimeOf(protocol: Protocol, priority: number): number {
  return ((256 - priority) / 256) * (protocol === 'v2 PASS IPv4' ? 1_000 : intervalOf(protocol))
}

export function activeDownIntervalOf(protocol: Protocol, priority: number): number {
  return 3 * intervalOf(protocol) + skewTimeOf(protocol, priority)
}

/** Returns the daemon in holdfast's place. Another daemon there tests the harness itself. */
function ourSide(neighbour: Neighbour): DaemonKind {
  return process.env.INTEROP_DRY_RUN === '1' ? neighbour : 'holdfast'
}

/** Returns the matches in both directions, each REPEAT times (by default once). */
export function matchesOf(neighbour: Neighbour, protocol: Protocol): Match[] {
  const ours = ourSide(neighbour)
  const repeat = Number(process.env.REPEAT ?? '1')
  const runs = Array.from({ length: repeat }, (_, i) => (repeat === 1 ? '' : `run ${i + 1}, `))
  return runs.flatMap((run) =>
    CELLS[neighbour][protocol].flatMap((transport): Match[] => {
      const cell = { protocol, transport, name: `${run}${protocol} ${transport}` }
      return [
        { ...cell, high: ours, low: neighbour },
        { ...cell, high: neighbour, low: ours },
      ]
    }),
  )
}
