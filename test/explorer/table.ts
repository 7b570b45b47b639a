/**
 * Stores tens of millions of small facts. Values that occur often are stored once; everything else is whole numbers
 * outside of V8's heap. This file does not know what a world is.
 */

/** Stores values of one kind, each once. Values with the same text are equal. A stored value must not be changed. */
export class Shared<T extends object> {
  readonly #textOf: (value: T) => string
  readonly #byText = new Map<string, number>()
  /** Numbers of those values that are recognised as objects, without a comparison of their content. */
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

/** Stores whole numbers of 32 bits by position. */
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

/** Stores rows of `width` whole numbers, each row once, numbered in the order of their arrival. */
export class Rows {
  readonly #width: number
  readonly #cells = new Column()
  /** Hash table: the number of a row plus one; 0 for a free place. At most half of the places are used. */
  #places = new Int32Array(1 << 11)
  #size = 0

  constructor(width: number) {
    this.#width = width
  }

  get size(): number {
    return this.#size
  }

  /** Returns the number of a row. The number of a new row is the `size` before the call. */
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

  /** Returns the place of a row in the hash table, or the free place in which the row would be stored. */
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
