/**
 * Finds white space that breaks a YAML text: a key with an indentation that belongs to no level, or a no-break space
 * from an editor or a web page. For each of these mistakes, the YAML parser reports five errors, and none of them names
 * the cause. The functions of this file are called only for a text that is not YAML.
 */

/** A mistake in a YAML text. `offset` is the index of the mistake in the text. */
export type Culprit = { readonly offset: number; readonly message: string }

const NO_BREAK_SPACE = '\u00a0'
export const NO_BREAK_SPACE_FOUND = 'this line contains a no-break space (U+00A0)'

/** Tells whether a key contains a no-break space. A key with a no-break space is valid YAML, and always a mistake. */
export const holdsNoBreakSpace = (key: string): boolean => key.includes(NO_BREAK_SPACE)

/**
 * Returns the first mistake of indentation in a YAML text; `undefined` if no mistake is found. `isKnown` tells whether
 * a word is a key of the configuration, which a message may quote.
 */
export function culpritIn(text: string, isKnown: (word: string) => boolean): Culprit | undefined {
  return noBreakSpaceIn(text) ?? wrongIndentIn(text, isKnown)
}

function noBreakSpaceIn(text: string): Culprit | undefined {
  let offset = 0
  for (const line of text.split('\n')) {
    const at = line.replace(/#.*$|"[^"]*"|'[^']*'/g, (part) => ' '.repeat(part.length)).indexOf(NO_BREAK_SPACE)
    if (at >= 0) return { offset: offset + at, message: NO_BREAK_SPACE_FOUND }
    offset += line.length + 1
  }
  return undefined
}

/**
 * An indentation level of keys or of list entries. `opens`: the last line of the level has no value, so a deeper level
 * may follow.
 */
type Level = { readonly indent: number; readonly isList: boolean; opens: boolean }

/**
 * Finds a wrong indentation in block style only. A text with block scalars, or with brackets over several lines, is
 * left to the YAML parser.
 */
function wrongIndentIn(text: string, isKnown: (word: string) => boolean): Culprit | undefined {
  const levels: Level[] = []
  let offset = 0
  for (const raw of text.split('\n')) {
    const start = offset
    offset += raw.length + 1
    const line = raw.replace(/\s#.*$|\r$/, '').trimEnd()
    if (/^\s*(#.*)?$/.test(line) || /^(---|\.\.\.|%)/.test(line)) continue
    const [, spaces = '', dashes = '', key, value = ''] =
      /^( *)((?:- +)*)(?:([A-Za-z][\w.-]*)\s*:(?=\s|$)\s*)?(.*)$/.exec(line) ?? []
    if (/^[|>]/.test(value) || unclosed(value)) return undefined
    if (key === undefined && dashes === '') return undefined
    const indent = spaces.length
    const wrong = wrongLevel(levels, indent, dashes !== '')
    // A message must not quote an unknown word, because the word may be a part of a password.
    const word = key !== undefined && isKnown(key) ? `"${key}"` : 'this line'
    if (wrong !== undefined)
      return { offset: start + indent, message: `${word} is indented by ${indent}, expected ${wrong}` }
    if (dashes !== '') enter(levels, { indent, isList: true, opens: key === undefined && value === '' })
    if (key !== undefined) enter(levels, { indent: indent + dashes.length, isList: false, opens: value === '' })
  }
  return undefined
}

const unclosed = (value: string): boolean => {
  const plain = value.replace(/"[^"]*"|'[^']*'/g, '')
  return (plain.match(/[[{]/g)?.length ?? 0) > (plain.match(/[\]}]/g)?.length ?? 0)
}

/** Returns the expected indentation; `undefined` if the present indentation is correct. */
function wrongLevel(levels: readonly Level[], indent: number, isEntry: boolean): number | undefined {
  const last = levels.at(-1)
  if (last === undefined || levels.some((level) => level.indent === indent)) return undefined
  if (indent > last.indent) return last.opens ? undefined : last.indent
  const distance = (level: Level) => Math.abs(level.indent - indent)
  const like = levels.filter(({ isList }) => isList === isEntry)
  return like.sort((a, b) => distance(a) - distance(b) || b.indent - a.indent)[0]?.indent ?? last.indent
}

function enter(levels: Level[], { indent, isList, opens }: Level): void {
  while ((levels.at(-1)?.indent ?? -1) > indent) levels.pop()
  const last = levels.at(-1)
  if (last?.indent === indent) last.opens = opens
  else levels.push({ indent, isList, opens })
}
