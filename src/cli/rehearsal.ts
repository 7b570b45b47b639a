/**
 * Plays the rehearsal (daemon/rehearsal.ts) when the engine already runs, one step at a turn of the event loop, so that
 * nothing that is real waits for more than one of them. Decided here: that it has no kernel behind it, and that V8 keeps
 * what it has learned. Refuses to know what is played.
 */
import { setFlagsFromString } from 'node:v8'
import type { Recorder } from '../daemon/recorder.ts'
import { rehearsal } from '../daemon/rehearsal.ts'
import { openClock } from '../linux/clock.ts'
import { openGuardian } from '../linux/guardian.ts'
import { MUTE_NATIVE } from '../linux/mute-native.ts'
import { openSockets } from '../linux/sockets.ts'

/** A descriptor that is no number: wills are written and go nowhere. */
const NO_GUARDIAN = 'rehearsal'

/** Returns at once. A bug in the play is told and ends it: the daemon is no worse off than without. */
export function startRehearsal(recorder: Recorder): void {
  // Otherwise bytecode that was not used for a few collections is thrown away, and the next takeover is a first one.
  setFlagsFromString('--no-flush-bytecode')
  const sockets = openSockets(MUTE_NATIVE, openClock(MUTE_NATIVE))
  const play = rehearsal({ sockets, will: openGuardian(NO_GUARDIAN) })
  const next = (): void => {
    try {
      if (play.next().done !== true) setImmediate(next)
    } catch (error) {
      recorder.log('error', `Cannot rehearse: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  setImmediate(next)
}
