/**
 * Takes the prose out of a file: comments, texts with a space in them, names of tests, pages. Text to copy (code in
 * backticks, blocks of code, links) is left out. This file knows the syntax of languages; it does not know which
 * words are wrong.
 */

export interface Prose {
  /** Sentences of comments or of a page. */
  readonly sentences: readonly string[]
  /** Headings of a page, which need no subject. */
  readonly headings: readonly string[]
  /** Texts of the program: messages, errors, help; in tests only the names of tests. */
  readonly texts: readonly string[]
  /** Identifiers of the code, each once, split into words: `lastWill` is `last will`. */
  readonly names: readonly string[]
}

const C_LIKE = /\.(?:ts|js|mjs|cjs|c|h)$/
const TOKEN =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|[A-Za-z_][A-Za-z0-9_]*|[^\s\w]|\d+/g
const NAMES_A_TEST = /^(?:test|it|describe|each|skipIf|runIf|concurrent|only|fails)$/

/** Splits text at the end of sentences. A line that is empty, or begins a list item, ends a sentence, too. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)/)
    .flatMap((paragraph) =>
      paragraph.replace(/\s+/g, ' ').split(/(?<=[.!?]["')*_]*)\s+(?=["'(*_`[]*(?:[A-Z\d`]|holdfast|keepalived))/),
    )
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
}

export const wordsIn = (sentence: string): number =>
  sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length

/** Returns text without its code and links. A piece of code counts as one word. */
const withoutCode = (text: string): string =>
  text
    .replace(/`[^`\n]*`/g, 'X')
    .replace(/\]\([^)\s]*\)/g, ']')
    .replace(/https?:\S+/g, 'X')

const splitName = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()

function page(text: string): Prose {
  const prose = text.replace(/^( *)```[\s\S]*?^\1```|^ {4,}\S.*$/gm, '\n').replace(/<!--[\s\S]*?-->/g, '\n')
  const cells = [...prose.matchAll(/^\s*\|(.*)\|\s*$/gm)].flatMap(([, row = '']) => withoutCode(row).split('|'))
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => withoutCode(heading))
  const rest = withoutCode(prose.replace(/^\s*(?:\||#+ ).*$/gm, '\n'))
  return { sentences: [...cells.flatMap(sentencesOf), ...sentencesOf(rest)], headings, texts: [], names: [] }
}

/** Reads the lines that begin with `#`, and the comments behind a line. */
function shell(text: string): Prose {
  const lines = text.split('\n').map((line) => /^\s*#(?!!)\s?(.*)$/.exec(line)?.[1] ?? / # (.*)$/.exec(line)?.[1] ?? '')
  return { sentences: sentencesOf(withoutCode(lines.join('\n'))), headings: [], texts: [], names: [] }
}

const commentText = (token: string): string =>
  token
    .replace(/^\/\*+|\*+\/$/g, '')
    .replace(/^\s*(?:\/\/+|\*)/gm, '')
    .replace(/^ *@\w+/gm, '\n')

function code(path: string, text: string): Prose {
  const isTest = path.startsWith('test/')
  const comments: string[] = []
  const texts: string[] = []
  const names = new Set<string>()
  let line = ''
  let lineEnd = -1
  let before = ['', '']
  const endLines = () => {
    if (line !== '') comments.push(line)
    line = ''
  }
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token.startsWith('//')) {
      // Lines that follow each other are one comment.
      const follows = line !== '' && /^\s*$/.test(text.slice(lineEnd, index))
      if (!follows) endLines()
      line += `${commentText(token)}\n`
      lineEnd = index + token.length
      continue
    }
    endLines()
    if (token.startsWith('/*')) comments.push(commentText(token))
    else if (/^['"`]/.test(token) && token.length > 1) {
      const value = token.slice(1, -1).replace(/\$\{[^}]*\}/g, 'X')
      const named = before[1] === '(' && (NAMES_A_TEST.test(before[0] ?? '') || before[0] === ')')
      if (/\S \S/.test(value) && !value.includes('\n') && (!isTest || named)) texts.push(value)
    } else if (/^[A-Za-z_]{4,}/.test(token)) names.add(splitName(token))
    before = [before[1] ?? '', token]
  }
  endLines()
  return {
    sentences: comments.flatMap((comment) => sentencesOf(withoutCode(comment))),
    headings: [],
    texts: texts.map(withoutCode),
    names: [...names],
  }
}

/** Returns the prose of a file; the ending of its path says in which language it is written. */
export function proseOf(path: string, text: string): Prose {
  if (path.endsWith('.md')) return page(text)
  return C_LIKE.test(path) ? code(path, text) : shell(text)
}
