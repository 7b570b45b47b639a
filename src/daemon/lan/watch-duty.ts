/**
 * Decides which routers have a watch (docs/adr/0087). At the end of a turn, a Backup whose Active repeats its
 * advertisement gets one, if the whole sync group is Backup. An event ends the watches of the group before it is handled
 * (router/post-event.ts). This file does not know what a repetition is.
 */
import type { Router } from '../router/router.ts'

export type WatchDutyContext = {
  readonly routers: () => readonly Router[]
  /** Tells whether the configuration allows watches. */
  readonly isOn: () => boolean
}

export class WatchDuty {
  readonly #context: WatchDutyContext

  constructor(context: WatchDutyContext) {
    this.#context = context
  }

  /** Starts and ends watches after the effects of a turn. */
  settle(): void {
    const { isOn, routers } = this.#context
    const mayWatch = isOn()
    for (const router of routers()) {
      const { group } = router
      // The first member stands for its group.
      if (group.members[0] !== router) continue
      const areBackup = mayWatch && group.members.every(({ state }) => state.name === 'Backup')
      for (const member of group.members) settleMember(member, areBackup)
    }
  }

  /** Adds what the watches have noted to the states and counters of the routers. */
  read(): void {
    for (const router of this.#context.routers()) router.readWatch()
  }
}

/** A router whose queue may hide packets needs each packet, to learn that the queue hides none. */
function settleMember(router: Router, mayWatch: boolean): void {
  const { io, parameters, state, watch } = router
  const port = mayWatch && io?.receptionLost === false ? io.repetitions : undefined
  if (watch.isArmed && watch.isCurrent(state, parameters, port)) return
  router.endWatch()
  if (port !== undefined) watch.arm(port, router.state, parameters)
}
