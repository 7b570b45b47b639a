/**
 * Finds the known word that was probably meant. A pair of letters that changed places count as one mistake, as in
 * `vird`. This file knows nothing about the use of the words.
 */

/**
 * Returns the candidate word with the fewest spelling mistakes, at most one in three letters; `undefined` if every
 * candidate has more.
 */
export function nearestWord(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > 64) return undefined
  const limit = Math.max(1, Math.floor(word.length / 3))
  let best: { readonly candidate: string; readonly slips: number } | undefined
  for (const candidate of candidates) {
    const slips = slipsBetween(plain(word), plain(candidate))
    if (slips <= limit && (best === undefined || slips < best.slips)) best = { candidate, slips }
  }
  return best?.candidate
}

// advert_interval, AdvertInterval and advert-interval count as the same word.
const plain = (word: string): string => word.toLowerCase().replace(/[_-]/g, '')

/** Returns the number of spelling mistakes between two words (optimal string alignment distance). */
function slipsBetween(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const at = (cells: readonly number[], k: number) => cells[k] ?? 0
      row.push(
        Math.min(
          at(last, j) + 1,
          at(row, j - 1) + 1,
          at(last, j - 1) + (same ? 0 : 1),
          swapped ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}

/** Returns the message for a name that no virtual router and no sync group has. */
export function unknownRouter(name: string, known: readonly string[]): string {
  const meant = nearestWord(name, known)
  const hint = meant === undefined ? `known names: ${known.join(', ') || 'none'}` : `did you mean "${meant}"?`
  return `no virtual router or sync group is called "${name}": ${hint}`
}
