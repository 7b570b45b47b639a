/**
 * Memory for tens of millions of small facts. Common values are stored once; the rest are whole numbers outside of the
 * heap. This file does not know what a world is.
 */

/** Values of one kind, each once; values with the same text are equal. Stored values must not be changed. */
export class Shared<T extends object> {
  readonly #textOf: (value: T) => string
  readonly #byText = new Map<string, number>()
  /** Numbers of values that are recognized without a look at their content. */
  readonly #byValue = new WeakMap<T, number>()
  readonly #values: T[] = []

  constructor(textOf: (value: T) => string = JSON.stringify) {
    this.#textOf = textOf
  }

  numberOf(value: T): number {
    const known = this.#byValue.get(value)
    if (known !== undefined) return known
    const text = this.#textOf(value)
    const number = this.#byText.get(text) ?? this.#values.push(value) - 1
    this.#byText.set(text, number)
    this.#byValue.set(value, number)
    return number
  }

  at(number: number): T {
    const value = this.#values[number]
    if (value === undefined) throw new Error(`Cannot find value ${number}: there are ${this.#values.length}`)
    return value
  }
}

/** Whole numbers of 32 bits by position. */
export class Column {
  #numbers = new Int32Array(1 << 10)
  #length = 0

  get length(): number {
    return this.#length
  }

  push(number: number): void {
    if (this.#length === this.#numbers.length) {
      const larger = new Int32Array(2 * this.#length)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.#length++] = number
  }

  set(position: number, number: number): void {
    this.#numbers[position] = number
  }

  at(position: number): number {
    return this.#numbers[position] ?? 0
  }
}

/** Rows of `width` whole numbers, each once, numbered in the order of their arrival. */
export class Rows {
  readonly #width: number
  readonly #cells = new Column()
  /** Number of a row plus one; 0 is a free place. At most half of the places are taken. */
  #places = new Int32Array(1 << 11)
  #size = 0

  constructor(width: number) {
    this.#width = width
  }

  get size(): number {
    return this.#size
  }

  /** Returns the number of a row: for a new row it is the former `size`. */
  numberOf(row: readonly number[]): number {
    const place = this.#placeOf(row)
    const taken = this.#places[place] ?? 0
    if (taken > 0) return taken - 1
    for (const cell of row) this.#cells.push(cell)
    this.#places[place] = ++this.#size
    if (2 * this.#size > this.#places.length) this.#spread()
    return this.#size - 1
  }

  at(number: number): readonly number[] {
    return Array.from({ length: this.#width }, (_, i) => this.#cells.at(number * this.#width + i))
  }

  /** Returns the place of a row, or its future place. */
  #placeOf(row: readonly number[]): number {
    const last = this.#places.length - 1
    let hash = 0
    for (const cell of row) {
      hash = Math.imul(hash ^ cell, 0x9e3779b1)
      hash ^= hash >>> 15
    }
    for (let place = hash & last; ; place = (place + 1) & last) {
      const taken = this.#places[place] ?? 0
      if (taken === 0 || this.#is(taken - 1, row)) return place
    }
  }

  #is(number: number, row: readonly number[]): boolean {
    for (let i = 0; i < this.#width; i++) if (this.#cells.at(number * this.#width + i) !== row[i]) return false
    return true
  }

  #spread(): void {
    this.#places = new Int32Array(2 * this.#places.length)
    for (let number = 0; number < this.#size; number++) this.#places[this.#placeOf(this.at(number))] = number + 1
  }
}
