/**
 * Finds out whether the service behind a virtual address is down on a node. Pure. This file does not know health
 * checks, and moves of addresses.
 */
import { checksOf, nameOf } from '../config/checks.ts'
import type { Config } from '../config/config.ts'
import type { Fault } from './scenario.ts'
import type { Injected } from './simulation.ts'
import type { Moment } from './witness.ts'

/** Returns true if this fault takes the service behind this address down on the fault's node. */
export type ServiceOf = (fault: Fault, address: string) => boolean

type Node = { readonly name: string; readonly config: Config }

/**
 * Returns the function that finds failed services for these nodes. A service is down with all services of its node, or
 * with a check that its router or group tracks and that connects to the service (http, tcp). A client does not use what
 * a check of a file or a program checks.
 */
export function servicesOf(nodes: readonly Node[]): ServiceOf {
  return ({ checks, kind, node }, address) => {
    const config = nodes.find(({ name }) => name === node)?.config
    if (kind !== 'service down' || config === undefined) return false
    if (checks === undefined) return true
    const holders = config.virtualRouters.filter(({ addresses }) => addresses.some((vip) => vip.address === address))
    const names = new Set(holders.map(({ name }) => name))
    const groups = config.syncGroups.filter(({ members }) => members.some((member) => names.has(member)))
    const connects = new Set(
      checksOf(config).flatMap((check) =>
        check.kind === 'probe' && (check.spec.probe.kind === 'http' || check.spec.probe.kind === 'tcp')
          ? [nameOf(check)]
          : [],
      ),
    )
    const isTracked = (name: string): boolean =>
      [...holders, ...groups].some(({ track }) =>
        track.some((tracker) => 'healthcheck' in tracker && leadsTo(config, tracker.healthcheck, name)),
      )
    return checks.some((name) => connects.has(name) && isTracked(name))
  }
}

function leadsTo(config: Config, from: string, to: string): boolean {
  if (from === to) return true
  const check = config.healthchecks.find((each) => nameOf(each) === from)
  return check?.kind === 'combination' && check.members.some((member) => leadsTo(config, member, to))
}

/** Returns the recorded changes, with `served` only while the service works on the node that the client reaches. */
export function withoutService(
  moments: readonly Moment[],
  injected: readonly Injected[],
  isService: (fault: Fault) => boolean,
): readonly Moment[] {
  const downs = injected.filter(({ fault }) => isService(fault))
  const times = [...new Set([...moments.map(({ at }) => at), ...downs.flatMap(({ at, end }) => [at, end])])]
  return times
    .sort((one, other) => one - other)
    .flatMap((at): Moment[] => {
      const moment = moments.findLast((each) => each.at <= at)
      if (moment === undefined) return []
      const isDown = downs.some((down) => down.fault.node === moment.served && down.at <= at && at < down.end)
      return [{ ...moment, at, served: isDown ? undefined : moment.served }]
    })
}
