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
    const { length } = this.#bounds
    let bucket = 0
    while (bucket < length && value > (this.#bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    this.#add(bucket, 1)
    this.#add(length + 1, value)
  }

  read(): Cells {
    return this.#cells.slice()
  }

  #add(cell: number, value: number): void {
    this.#cells[cell] = (this.#cells[cell] ?? 0) + value
  }
}
