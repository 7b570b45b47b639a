/**
 * Takes the prose out of a source file or a page: comments, texts that contain a space, names of tests, sentences. Text
 * to copy (code in backticks, blocks of code, links) is left out. This file knows the syntax of the languages. This
 * file does not know which words are wrong.
 */

export interface Prose {
  /** Sentences of the comments of a source file, or sentences of a page. */
  readonly sentences: readonly string[]
  /** Headings of a page. A heading needs no subject. */
  readonly headings: readonly string[]
  /** Texts of the program: messages, errors and help. In a test file, only the names of tests. */
  readonly texts: readonly string[]
  /** Identifiers of a source file, each once and split into words: `lastWill` becomes `last will`. */
  readonly names: readonly string[]
}

const C_LIKE = /\.(?:ts|js|mjs|cjs|c|h)$/
const TOKEN =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|[A-Za-z_][A-Za-z0-9_]*|[^\s\w]|\d+/g
const NAMES_A_TEST = /^(?:test|it|describe|each|skipIf|runIf|concurrent|only|fails)$/

/** Splits a text into sentences. An empty line, and a line that begins a list item, also end a sentence. */
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

/** Returns the text without links. Each piece of code is replaced by one word. */
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

/** Returns the prose of a shell script: lines that begin with `#`, and comments behind a command. */
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
      // Comment lines that follow each other directly are one comment.
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

/** Returns the prose of a file. The extension of the path decides which language the file is read as. */
export function proseOf(path: string, text: string): Prose {
  if (path.endsWith('.md')) return page(text)
  return C_LIKE.test(path) ? code(path, text) : shell(text)
}
