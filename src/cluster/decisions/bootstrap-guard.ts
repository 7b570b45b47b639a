/**
 * Decides when the bootstrap node releases the API's address: after several checks in a row in which its own API and
 * Ironic did not answer. The bootstrap node's priority is higher than that of any other node, so no other node takes
 * the address before. This file decides the order after each check, and the time of the next check. Requests are sent
 * elsewhere.
 */

export type BootstrapLook = { readonly apiReady: boolean; readonly ironicAnswers: boolean }

export type BootstrapGuard = {
  /**
   * Time until which the guard waits for an API that has never been ready, because a bootstrap node starts slowly;
   * `undefined` if the guard does not wait.
   */
  readonly waitsUntil: number | undefined
  /** Number of checks without API and Ironic since the API was last ready. */
  readonly misses: number
  readonly nextLookAt: number
}

export type BootstrapOrder = 'stop' | 'reload'

const LONGEST_WAIT = 30 * 60_000
const WAITING_LOOK = 3_000
const LOOK = 1_000
/**
 * Shortest time in milliseconds between two orders to the engine, so that a stop and a start do not follow each other
 * directly.
 */
const PAUSE = 5_000
const BEARABLE = 4

/**
 * Returns the guard's state at the start. `isStopped`: an earlier run of the agent stopped the engine and did not
 * reload it.
 */
export const startBootstrapGuard = (now: number, isStopped = false): BootstrapGuard => ({
  waitsUntil: isStopped ? undefined : now + LONGEST_WAIT,
  misses: isStopped ? BEARABLE + 1 : 0,
  nextLookAt: now,
})

/**
 * Returns the state after a check of the bootstrap node, and the order for the engine. An answer of Ironic alone
 * changes nothing. `stop` is repeated at each check, in case another program has restarted the engine.
 */
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
