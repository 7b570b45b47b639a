/**
 * Starts the routers of the configuration with which the daemon starts. This file decides the order: leftover addresses
 * go first, then routers are placed. Routers of the engine before are adopted (docs/adr/0088), the others start.
 */
import type { Config } from '../config/config.ts'
import type { ResolvedRouter } from '../config/resolve.ts'
import type { Millis } from '../wire/units.ts'
import type { ColdStart } from './cold-start.ts'
import type { DaemonPorts, Engine } from './engine.ts'
import { Adoption } from './guard/adoption.ts'
import { postEvent } from './router/post-event.ts'

export type FirstRouters = {
  /** Reports the adoption, after the effects of the turn. */
  settle(now: Millis): void
}

/** Starts the routers. The caller has read the kernel's links and addresses, and ends the turn. */
export function startFirstRouters(
  engine: Engine,
  ports: DaemonPorts,
  config: Config,
  coldStart: ColdStart,
): FirstRouters {
  const { board, health, notices, placement, registry, restart, stale, view } = engine
  const { clock, cold, guardian, identity, recorder, version = 'unknown' } = ports
  const adoption = new Adoption({ port: guardian.restart, config, identity: identity?.(), version, view, recorder })
  const hasSwept = stale.sweep(config, adoption.addresses)
  const resolved = firstResolution(engine, ports, hasSwept)
  const now = clock.now()
  health.setChecks(config, now)
  board.restore(adoption.checks, now)
  notices.configure(config)
  registry.reserve(adoption.candidates, adoption.records)
  for (const each of resolved) registry.add(each, now)
  registry.regroup(config.syncGroups, now)
  placement.refresh(registry.routers, now, resolved)
  const adopted = adoption.adopt(registry, now)
  // The end of a delay would take the clock of an adopted router back, in a process that is still cold.
  const starting = registry.all.filter(({ name }) => !adopted.includes(name))
  if (cold === true) for (const router of starting) coldStart.hold(router)
  registry.endReservation()
  stale.sweepRefused(config, adoption.refused(adopted))
  for (const router of registry.all) if (!adopted.includes(router.name)) postEvent(router, { kind: 'startup' }, now)
  return {
    settle(at) {
      adoption.settle(adopted, at)
      restart.changed()
      restart.settle()
    },
  }
}

/**
 * Returns the routers with the interfaces and source addresses that the check of the configuration found. Finds them
 * again in two cases. The sweep may have removed an address that was chosen as a source, and an address file may have
 * changed.
 */
function firstResolution(
  { files, resolution }: Engine,
  { resolved }: DaemonPorts,
  hasSwept: boolean,
): readonly ResolvedRouter[] {
  const isCurrent = !hasSwept && files.named.size === 0
  return resolved !== undefined && isCurrent ? resolved : resolution.resolve()
}
