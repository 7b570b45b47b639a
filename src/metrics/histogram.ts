/**
 * A histogram with fixed buckets. Observing a value takes a few comparisons and two additions without new memory,
 * because it happens for each packet in the engine's thread. Readers get a copy. This file knows nothing about what is
 * measured.
 */

/** Number of values in each bucket (not cumulative), number of greater values, and the sum of all values. */
export type Cells = Float64Array

/** A histogram as it was read at one time, with the name of its metric. */
export type Distribution<Name extends string = string> = {
  readonly name: Name
  readonly labels: Readonly<Record<string, string>>
  readonly cells: Cells
}

export class Histogram {
  readonly #bounds: readonly number[]
  readonly #cells: Cells

  /** `bounds` are the largest values of the buckets, ascending. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#cells = new Float64Array(bounds.length + 2)
  }

  observe(value: number): void {
    this.#add(this.#bucketOf(value), 1)
    this.#add(this.#bounds.length + 1, value)
  }

  /** Adds values that were counted elsewhere: for each bucket a value in it and the number of values, and their sum. */
  observeMany(counts: Iterable<readonly [value: number, count: number]>, sum: number): void {
    for (const [value, count] of counts) this.#add(this.#bucketOf(value), count)
    this.#add(this.#bounds.length + 1, sum)
  }

  read(): Cells {
    return this.#cells.slice()
  }

  #bucketOf(value: number): number {
    const { length } = this.#bounds
    let bucket = 0
    while (bucket < length && value > (this.#bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    return bucket
  }

  #add(cell: number, value: number): void {
    this.#cells[cell] = (this.#cells[cell] ?? 0) + value
  }
}
