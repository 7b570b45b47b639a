/**
 * Provides time for tests that observe real processes: the clock that all network namespaces share, and a wait whose
 * error reports what was expected and what was observed. This file does not know the awaited condition.
 */

/** Returns CLOCK_MONOTONIC in ms with fractions. The prober's times (`t`) are of the same clock. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/**
 * Longest wait for something that has no time limit of its own, such as a process start on a busy machine, in
 * milliseconds.
 */
export const PATIENCE = 30_000

export type Wait = {
  /** Returns what was observed last, for the error of a wait that was in vain. */
  readonly sight: () => unknown
  readonly within?: number
  readonly every?: number
}

/**
 * Calls `look` repeatedly until it returns something other than `undefined` or false. After `within` ms the wait ends
 * with an error that contains the result of `sight`.
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
