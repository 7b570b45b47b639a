/** Who did something, over time: for questions such as "how long did two answer?". Knows no LAN. */

/** From `at` on it is these nodes, in the order of the list. */
export type Span = { readonly at: number; readonly nodes: readonly string[] }

/** The longest time between `since` and `until` in which the number of nodes satisfied `wanted`. */
export function longestSpan(
  spans: readonly Span[],
  wanted: (count: number) => boolean,
  since: number,
  until: number,
): number {
  let longest = 0
  let began: number | undefined
  spans.forEach(({ at, nodes }, i) => {
    const ends = spans[i + 1]?.at ?? until
    if (ends <= since) return
    if (!wanted(nodes.length)) began = undefined
    else began ??= Math.max(at, since)
    if (began !== undefined) longest = Math.max(longest, ends - began)
  })
  return longest
}
