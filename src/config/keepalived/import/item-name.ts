/**
 * Converts names in a keepalived file, which may be any word, to names that holdfast accepts: letters, digits, ".", "_"
 * and "-". If two names become equal, only the first stays unchanged.
 */

const LONGEST = 63

/** Gives each word a name of its own: two words never get the same name. */
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
