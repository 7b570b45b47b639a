/**
 * Time for tests that watch the real world: the clock that every namespace shares, and waiting that ends with an
 * account of what was expected, what was seen instead and for how long. Refuses to know what is waited for.
 */

/** CLOCK_MONOTONIC in ms with fractions: the clock of the probe's `t`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

export type Wait = { readonly within: number; readonly every?: number }

/** Looks until `look` returns something else than undefined or false; throws with the last sight after `within` ms. */
export async function eventually<T>(
  expected: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  sight: () => unknown,
  { within, every = 5 }: Wait,
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
