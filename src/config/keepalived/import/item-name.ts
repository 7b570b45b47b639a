/**
 * Turns names of keepalived, which may be any word, into names that holdfast accepts: letters, digits, ".", "_" and
 * "-". If two names become equal, the first one keeps its form. This file does not know what is named.
 */

const LONGEST = 63

/** Gives each word one name, and no name to two words. */
export class ItemNames {
  readonly #taken = new Set<string>()

  give(word: string, otherwise: string): string {
    const safe = word
      .replace(/[^A-Za-z0-9._-]/g, '_')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, LONGEST)
    const wanted = safe === '' ? otherwise : safe
    let name = wanted
    for (let count = 2; this.#taken.has(name); count++) name = `${wanted.slice(0, LONGEST - 6)}-${count}`
    this.#taken.add(name)
    return name
  }
}
