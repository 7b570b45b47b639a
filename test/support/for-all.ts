import fc from 'fast-check'

type Arbitraries<Values extends readonly unknown[]> = { readonly [Each in keyof Values]: fc.Arbitrary<Values[Each]> }

/**
 * Checks a property with `runs` random inputs, each with one value of each arbitrary. The property fails if it returns
 * false or throws.
 */
export function forAll<Values extends [unknown, ...unknown[]]>(
  runs: number,
  arbitraries: Arbitraries<Values>,
  property: (...values: Values) => unknown,
): void {
  const each: fc.Arbitrary<Values> = fc.tuple(...(arbitraries as Arbitraries<unknown[]>)) as never
  fc.assert(
    fc.property(each, (values) => property(...values) !== false),
    { numRuns: runs },
  )
}
