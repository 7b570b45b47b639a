/**
 * A histogram with fixed buckets. Observing is a few comparisons and two additions in memory that is there already,
 * because it happens for each packet on the engine's thread; whoever reads gets a copy. Refuses to know what is
 * measured, in which unit, and how it is written down.
 */

/** How many values each bucket got (those of the smaller ones are not in it), how many none of them, and their sum. */
export type Cells = Float64Array

/** A histogram as it was read, under the name of its metric. */
export type Distribution<Name extends string = string> = {
  readonly name: Name
  readonly labels: Readonly<Record<string, string>>
  readonly cells: Cells
}

export class Histogram {
  readonly #bounds: readonly number[]
  readonly #cells: Cells

  /** `bounds`: the largest value of each bucket, ascending. */
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
