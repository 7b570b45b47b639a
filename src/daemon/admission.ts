/**
 * Routers that come and go with a reload: a removed one is released when it answers for nothing any more, a new one starts
 * when its place is free. Decided here: when a place is free. Refuses to know what a reload changes (reload.ts).
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
  /** In force. */
  readonly config: () => Config
  /** The daemon leaves, and starts no router any more. */
  readonly isStopping: () => boolean
  readonly resolution: NodeResolution
  readonly placement: Placement
  readonly registry: Registry
  readonly leftovers: Leftovers
  readonly notices: Notices
  readonly runner: EffectRunner
  /** Routers have come. */
  readonly onAdmitted: () => void
}

export class Admission {
  readonly #context: AdmissionContext

  constructor(context: AdmissionContext) {
    this.#context = context
  }

  /** Starts the routers of the configuration that are not here and whose place is free. */
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
    // Those that are alone.
    for (const router of added) postEvent(router, { kind: 'startup' }, now)
    onAdmitted()
  }

  /** Releases routers that answer for nothing any more, and starts those that waited for their place. */
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
