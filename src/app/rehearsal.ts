/**
 * Runs the rehearsal (daemon/rehearsal.ts) when the engine already runs. One part of the rehearsal runs per turn of the
 * event loop, so real work waits for one part at most. The rehearsal uses no kernel. With the rehearsal, V8 compiles
 * the code of a takeover in advance (scripts/loader.cjs).
 */

import { messageOf } from '../base/message-of.ts'
import { rehearsal } from '../daemon/rehearsal.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import { openClock } from '../linux/clock.ts'
import { openGuardian } from '../linux/guardian/guardian.ts'
import { MUTE_NATIVE } from '../linux/mute-native.ts'
import { openSockets } from '../linux/sockets/sockets.ts'
import { LOG } from '../log/log.ts'

/** A guardian descriptor that is not a number. Cleanup plans are encoded but sent nowhere. */
const NO_GUARDIAN = 'rehearsal'

export function silentRehearsal(): Generator<void, void> {
  const sockets = openSockets(MUTE_NATIVE, openClock(MUTE_NATIVE))
  return rehearsal({ sockets, guardian: openGuardian(NO_GUARDIAN) })
}

/**
 * Starts the rehearsal and returns immediately; `onEnd` is called later. An error ends the rehearsal and is logged; the
 * daemon then runs without it.
 */
export function startRehearsal(recorder: Recorder, onEnd: () => void): void {
  const play = silentRehearsal()
  const next = (): void => {
    try {
      if (play.next().done !== true) {
        setImmediate(next)
        return
      }
    } catch (error) {
      recorder.log(LOG.rehearsalFailed, `Cannot practise a takeover (rehearsal): ${messageOf(error)}`)
    }
    onEnd()
  }
  setImmediate(next)
}
