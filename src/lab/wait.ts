/**
 * Time for tests that observe the real world: the clock that all namespaces share, and a wait that reports what was
 * expected and what was seen. This file does not know the condition.
 */

/** CLOCK_MONOTONIC in ms with fractions: the clock of the probe's `t`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Duration of a wait that bounds nothing: a process start on a busy machine. Milliseconds. */
const PATIENCE = 30_000

export type Wait = {
  /** Returns what the error of a wait in vain reports. */
  readonly sight: () => unknown
  readonly within?: number
  readonly every?: number
}

/**
 * Calls `look` until it returns something other than undefined or false. Throws with the result of `sight` after
 * `within` ms.
 */
export async function eventually<T>(
  expected: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  { sight, within = PATIENCE, every = 5 }: Wait,
): Promise<T> {
  const startedAt = monotonicMs()
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    const waited = monotonicMs() - startedAt
    if (waited > within) {
      throw new Error(
        `Expected ${expected} within ${within} ms, after ${waited.toFixed(0)} ms saw ${JSON.stringify(await sight())}`,
      )
    }
    await sleep(every)
  }
}
