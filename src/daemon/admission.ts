/**
 * Adds and releases routers after a reload. A removed router is released when it no longer answers for any address. A
 * new router starts when no other router uses its name, VRID or addresses. Other files decide what a reload changes
 * (reload.ts).
 */
import type { Config } from '../config/config.ts'
import type { Millis } from '../wire/units.ts'
import type { Leftovers } from './addresses/leftovers.ts'
import type { EffectRunner } from './effect-runner.ts'
import type { NodeResolution } from './node-resolution.ts'
import type { Placement } from './placement.ts'
import { postEvent } from './router/post-event.ts'
import type { Registry } from './router/registry.ts'
import type { Notices } from './telemetry/notices.ts'

export type AdmissionContext = {
  /** Returns the configuration in force. */
  readonly config: () => Config
  /** Tells whether the daemon is stopping. A stopping daemon starts no router. */
  readonly isStopping: () => boolean
  readonly resolution: NodeResolution
  readonly placement: Placement
  readonly registry: Registry
  readonly leftovers: Leftovers
  readonly notices: Notices
  readonly runner: EffectRunner
  /** Called after routers were added. */
  readonly onAdmitted: () => void
}

export class Admission {
  readonly #context: AdmissionContext

  constructor(context: AdmissionContext) {
    this.#context = context
  }

  /** Starts the configured routers that do not exist yet and whose name, VRID and addresses are free. */
  admit(now: Millis): void {
    const { isStopping, leftovers, onAdmitted, placement, registry, resolution } = this.#context
    const config = this.#context.config()
    const { routers } = registry
    if (isStopping() || config.virtualRouters.every(({ name }) => routers.has(name))) return
    const absent = resolution
      .resolve()
      .filter(({ name, parameters }) => {
        return !routers.has(name) && !parameters.addresses.some((vip) => leftovers.has(vip))
      })
      .filter((resolved) => !registry.isInTheWayOf(resolved))
    if (absent.length === 0) return
    const added = absent.map((resolved) => registry.add(resolved, now))
    placement.refresh(routers, now)
    for (const router of added) router.awaitGroup()
    registry.regroup(config.syncGroups, now, 'startup')
    // Routers without a group start here.
    for (const router of added) postEvent(router, { kind: 'startup' }, now)
    onAdmitted()
  }

  /**
   * Releases routers that a reload removed and that no longer answer for any address. Starts the routers that waited
   * for these addresses.
   */
  releaseDeparted(now: Millis): void {
    const { notices, placement, registry, runner } = this.#context
    const departed = registry.takeDeparted()
    if (departed.length === 0) return
    for (const router of departed) {
      placement.release(router)
      notices.removed(router)
    }
    this.admit(now)
    runner.run(now)
  }
}
