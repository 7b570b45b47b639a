/**
 * Plays the rehearsal (daemon/rehearsal.ts) when the engine already runs, one step at a turn of the event loop, so that
 * nothing that is real waits for more than one of them. Decided here: that it has no kernel behind it. V8 keeps what it has
 * learned (scripts/loader.cjs). Refuses to know what is played.
 */

import { messageOf } from '../base/message-of.ts'
import { rehearsal } from '../daemon/rehearsal.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { openClock } from '../linux/clock.ts'
import { openGuardian } from '../linux/guardian/guardian.ts'
import { MUTE_NATIVE } from '../linux/mute-native.ts'
import { openSockets } from '../linux/sockets/sockets.ts'

/** A descriptor that is no number: wills are written and go nowhere. */
const NO_GUARDIAN = 'rehearsal'

export function silentRehearsal(): Generator<void, void> {
  const sockets = openSockets(MUTE_NATIVE, openClock(MUTE_NATIVE))
  return rehearsal({ sockets, guardian: openGuardian(NO_GUARDIAN) })
}

/** Returns at once; `onEnd` comes later. A bug in the play is told and ends it: the daemon is no worse off than without. */
export function startRehearsal(recorder: Recorder, onEnd: () => void): void {
  const play = silentRehearsal()
  const next = (): void => {
    try {
      if (play.next().done !== true) {
        setImmediate(next)
        return
      }
    } catch (error) {
      recorder.log('error', `Cannot rehearse: ${messageOf(error)}`)
    }
    onEnd()
  }
  setImmediate(next)
}
