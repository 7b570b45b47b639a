/**
 * Finds out by simulation whether a failing health check moves the virtual address. For each node that can become the
 * holder of an address, each check of the node fails once, in a simulation of its own. This file decides which
 * simulations are needed, and how long each lasts. The weights in the configuration are not read: only the holder after
 * the failure counts.
 */
import { nameOf } from '../config/checks.ts'
import type { Config } from '../config/config.ts'
import { healthchecksIn } from '../config/schema/track.ts'
import type { Fault } from './scenario.ts'
import { type EndStatus, type Play, play } from './simulation.ts'

/** Largest number of simulations. The report names the checks for which there is no simulation. */
const MOST = 300
/**
 * Largest number of events in all these simulations together, which take half a minute of CPU time. The limit is a
 * number of events and not a time, so that the report is the same on every machine.
 */
const MOST_EVENTS = 5_000_000

export type Unmoved = {
  readonly address: string
  readonly node: string
  /** Name of the check that fails; `undefined`: all checks of the router fail together. */
  readonly check: string | undefined
  readonly priority: number
  /** Name and priority of the best other node, which could take over. */
  readonly next: { readonly node: string; readonly priority: number }
}
export type WeightStudy = { readonly unmoved: readonly Unmoved[]; readonly tried: number; readonly leftOut: boolean }

export function studyWeights(what: Play): WeightStudy {
  const settles = settlingOf(what)
  const begins = Math.max(0, ...what.nodes.map(({ startsAt }) => startsAt))
  let [tried, events] = [0, 0]
  const isEnough = () => tried >= MOST || events >= MOST_EVENTS
  const end = (faults: readonly Fault[], ms: number): readonly EndStatus[] => {
    tried++
    const { endStatus, steps } = play({ ...what, faults, ms })
    events += steps
    return endStatus
  }
  const unmoved: Unmoved[] = []
  const addresses = new Set(
    what.nodes.flatMap(({ config }) => config.virtualRouters.flatMap((each) => each.addresses[0]?.address ?? [])),
  )
  let leftOut = false
  for (const address of addresses) {
    const gone: string[] = []
    while (!leftOut) {
      const off = gone.map((node): Fault => ({ at: begins + settles, ms: 100 * settles, kind: 'power off', node }))
      const ready = begins + 2 * settles
      const holder = holderOf(end(off, ready), address)
      if (holder === undefined || gone.length >= what.nodes.length - 1) break
      for (const check of checksOf(what, holder.node, holder.router)) {
        leftOut = isEnough()
        if (leftOut) break
        const fails: Fault = {
          ...{ at: ready, ms: 100 * settles, kind: 'service down', node: holder.node },
          ...(check === undefined ? {} : { checks: probesOf(what, holder.node, check) }),
        }
        const after = end([...off, fails], ready + settles)
        const still = holderOf(after, address)
        const next = after
          .filter((one) => one.node !== holder.node && one.addresses.includes(address) && one.state === 'Backup')
          .sort((one, other) => other.priority - one.priority)[0]
        if (still?.node !== holder.node || next === undefined) continue
        unmoved.push({
          ...{ address, node: holder.node, check, priority: still.priority },
          next: { node: next.node, priority: next.priority },
        })
      }
      gone.push(holder.node)
      leftOut ||= isEnough()
    }
  }
  return { unmoved, tried, leftOut }
}

const holderOf = (endStatus: readonly EndStatus[], address: string): EndStatus | undefined =>
  endStatus.find(({ addresses, state }) => state === 'Active' && addresses.includes(address))

/**
 * Returns the names of the checks that the router and its group track. If there is more than one check, `undefined` for
 * all of them together is the last entry.
 */
function checksOf({ nodes }: Play, node: string, router: string): readonly (string | undefined)[] {
  const config = nodes.find(({ name }) => name === node)?.config
  const groups = config?.syncGroups.filter(({ members }) => members.includes(router)) ?? []
  const routers = config?.virtualRouters.filter(({ name }) => name === router) ?? []
  const names = new Set(
    [...routers, ...groups].flatMap(({ track }) => healthchecksIn(track).map(({ healthcheck }) => healthcheck)),
  )
  return names.size > 1 ? [...names, undefined] : [...names]
}

/**
 * Returns the probes that have to fail so that the check is down. A combination of checks is down when all of its
 * members are.
 */
function probesOf(what: Pick<Play, 'nodes'>, node: string, name: string): readonly string[] {
  const checks: Config['healthchecks'] = what.nodes.find((one) => one.name === node)?.config.healthchecks ?? []
  const check = checks.find((one) => nameOf(one) === name)
  return check?.kind === 'combination' ? check.members.flatMap((member) => probesOf(what, node, member)) : [name]
}

/** Returns a time in ms that is longer than any wait of an engine, including its waits for checks. */
function settlingOf({ nodes }: Play): number {
  const waits = nodes.flatMap(({ config }) =>
    config.virtualRouters.map(
      ({ advertisementInterval, minHold, preemptDelay }) => 8 * advertisementInterval + minHold + preemptDelay,
    ),
  )
  const checks = nodes.flatMap(({ config }) =>
    config.healthchecks.map((check) => {
      if (check.kind === 'combination') return 0
      const { cadence, rule, timeout } = check.spec
      return Math.max(rule.rise, rule.fall) * (cadence.interval + timeout)
    }),
  )
  return 5_000 + Math.max(0, ...waits) + Math.max(0, ...checks)
}
