/**
 * When the bootstrap node gives up the API's address: its own API and Ironic have not answered for some looks in a row. It
 * advertises more than any other node can, so nobody takes the address from it before. Decided here: what to say after each
 * look, and when to look again. Refuses to ask anybody.
 */

export type BootstrapLook = { readonly apiReady: boolean; readonly ironicAnswers: boolean }

export type BootstrapGuard = {
  /** The API of a bootstrap node takes its time: before it was ready once, its silence says nothing. */
  readonly waitsUntil: number | undefined
  /** Looks without API and Ironic, since the API was last ready. */
  readonly misses: number
  readonly nextLookAt: number
}

export type BootstrapOrder = 'stop' | 'reload'

const LONGEST_WAIT = 30 * 60_000
const WAITING_LOOK = 3_000
const LOOK = 1_000
/** After each order: a stop and a start are not said in one breath. */
const PAUSE = 5_000
const BEARABLE = 4

/** `isStopped`: an earlier life of the agent has said `stop`, and no `reload` since. */
export const startBootstrapGuard = (now: number, isStopped = false): BootstrapGuard => ({
  waitsUntil: isStopped ? undefined : now + LONGEST_WAIT,
  misses: isStopped ? BEARABLE + 1 : 0,
  nextLookAt: now,
})

/** An answer of Ironic neither counts nor resets. `stop` is said again at each look, whoever restarted the engine meanwhile. */
export function looked(
  guard: BootstrapGuard,
  { apiReady, ironicAnswers }: BootstrapLook,
  now: number,
): { readonly guard: BootstrapGuard; readonly order: BootstrapOrder | undefined } {
  if (guard.waitsUntil !== undefined && !apiReady && now < guard.waitsUntil)
    return { guard: { ...guard, nextLookAt: Math.min(guard.waitsUntil, now + WAITING_LOOK) }, order: undefined }
  const misses = apiReady ? 0 : guard.misses + Number(!ironicAnswers)
  const wasStopped = guard.misses > BEARABLE
  const order = misses > BEARABLE ? 'stop' : wasStopped ? 'reload' : undefined
  return { guard: { waitsUntil: undefined, misses, nextLookAt: now + (order === undefined ? LOOK : PAUSE) }, order }
}
