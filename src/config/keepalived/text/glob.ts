/**
 * Matches the file patterns of include: csh braces and the wildcards `*`, `?` and `[...]`, one path segment at a time.
 * This file decides how many alternatives a pattern may have. This file knows nothing about which files exist.
 */

const MOST_ALTERNATIVES = 1024

/**
 * Expands the braces of a pattern: `{a,b{c,d}}.conf` gives `a.conf`, `bc.conf` and `bd.conf`. Braces that are not
 * closed are ordinary characters.
 */
export function alternatives(pattern: string): readonly string[] {
  const found: string[] = []
  const waiting = [pattern]
  while (waiting.length > 0 && found.length < MOST_ALTERNATIVES) {
    const next = waiting.shift() ?? ''
    const split = firstBraces(next)
    if (split === undefined) found.push(next)
    else waiting.unshift(...split.slice(0, MOST_ALTERNATIVES))
  }
  return found
}

function firstBraces(pattern: string): readonly string[] | undefined {
  for (let open = pattern.indexOf('{'); open >= 0; open = pattern.indexOf('{', open + 1)) {
    // Braces without content have no alternatives, as in a shell.
    if (pattern[open + 1] === '}') continue
    const cuts = [open]
    let depth = 0
    for (let i = open; i < pattern.length; i++) {
      if (pattern[i] === '{') depth++
      else if (pattern[i] === ',' && depth === 1) cuts.push(i)
      else if (pattern[i] === '}' && --depth === 0) {
        const ends = [...cuts.slice(1), i]
        return cuts.map((cut, k) => pattern.slice(0, open) + pattern.slice(cut + 1, ends[k]) + pattern.slice(i + 1))
      }
    }
  }
  return undefined
}

/** Tells whether a path segment has a wildcard. */
export const isWild = (segment: string): boolean => /[*?[]/.test(segment)

/**
 * Returns a function that tests a file name. A name that begins with a dot matches only a pattern that begins with a
 * dot.
 */
export function matcherOf(segment: string): (name: string) => boolean {
  const source = segment.replace(/\[!?\]?[^\]]*\]|[\s\S]/g, (part) =>
    part === '*'
      ? '.*'
      : part === '?'
        ? '.'
        : part.length > 1
          ? classOf(part)
          : part.replace(/[$()*+./?[\\\]^{|}-]/g, '\\$&'),
  )
  const expression = new RegExp(`^${source}$`, 's')
  return (name) => (name.startsWith('.') ? segment.startsWith('.') : true) && expression.test(name)
}

function classOf(part: string): string {
  const not = part.startsWith('[!') || part.startsWith('[^')
  const inside = part.slice(not ? 2 : 1, -1).replace(/[\\\]^[]/g, '\\$&')
  // A reversed range such as [z-a] matches nothing, and is not an error.
  const valid = !/(.)-(.)/s.test(inside) || [...inside.matchAll(/(.)-(.)/gs)].every(([, a = '', b = '']) => a <= b)
  return inside === '' || !valid ? '(?!)' : `[${not ? '^' : ''}${inside}]`
}
