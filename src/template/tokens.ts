/**
 * Splits a template into text and the tokens of its actions. The trim markers `{{-` and `-}}` and the comments end here.
 * This file knows which characters form a token, and not which order of tokens is valid.
 */
import { placeOf, TemplateError } from './template-error.ts'

export type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'space'
  | 'identifier'
  | 'keyword'
  | 'boolean'
  | 'field'
  | 'variable'
  | 'dot'
  | 'string'
  | 'number'
  | 'declare'
  | 'assign'
  | 'pipe'
  | 'comma'
  | 'leftParenthesis'
  | 'rightParenthesis'
  | 'endOfText'

export type Token = { readonly kind: TokenKind; readonly text: string; readonly at: number }

const KEYWORDS = ['block', 'break', 'continue', 'define', 'else', 'end', 'if', 'nil', 'range', 'template', 'with']
const SPACE = ' \t\r\n'
/** Characters that may follow a name. Go refuses any other one, such as the `=` of `$x=1`. */
const AFTER_NAME = /$|[ \t\r\n.,|:)(]|\}\}/y
const COMMENT = /\/\*[\s\S]*?\*\//y
const CLOSE = /(?:[ \t\r\n]-)?\}\}/y

/** The forms of tokens in an action, in the order in which they are tried. */
const FORMS: readonly (readonly [kind: TokenKind, form: RegExp])[] = [
  // White space directly before `-}}` belongs to the trim marker.
  ['space', /[ \t\r\n]+?(?=[ \t\r\n]-\}\})|[ \t\r\n]+/y],
  ['string', /"(?:[^"\\\n]|\\[^\n])*"|`[^`]*`/y],
  ['number', /[+-]?\.?[0-9][\p{L}\p{Nd}_.]*/uy],
  ['identifier', /[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ['field', /\.[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ['variable', /\$[\p{L}\p{Nd}_]*/uy],
  ['dot', /\./y],
  ['declare', /:=/y],
  ['assign', /=/y],
  ['pipe', /\|/y],
  ['comma', /,/y],
  ['leftParenthesis', /\(/y],
  ['rightParenthesis', /\)/y],
]
const NAMES: readonly TokenKind[] = ['identifier', 'field', 'variable', 'dot']

/** Returns the tokens of a template, the last of which is the end of the text. */
export function tokensOf(template: string): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  let trimsStart = false
  for (;;) {
    const open = template.indexOf('{{', at)
    const raw = template.slice(at, open === -1 ? undefined : open)
    const trimsEnd = open !== -1 && template[open + 2] === '-' && isSpace(template[open + 3])
    const text = trimmed(raw, trimsStart, trimsEnd)
    if (text !== '') tokens.push({ kind: 'text', text, at })
    if (open === -1) return [...tokens, { kind: 'endOfText', text: '', at: template.length }]
    const action = readAction(template, open, open + (trimsEnd ? 4 : 2))
    tokens.push(...action.tokens)
    at = action.end
    trimsStart = action.trims
  }
}

type Action = { readonly tokens: readonly Token[]; readonly end: number; readonly trims: boolean }

function readAction(template: string, open: number, start: number): Action {
  const comment = matchAt(COMMENT, template, start)
  if (comment !== undefined) {
    const close = matchAt(CLOSE, template, start + comment.length)
    if (close === undefined) throw refused(template, start, 'a comment must end immediately before "}}" or " -}}"')
    return { tokens: [], end: start + comment.length + close.length, trims: close.length > 2 }
  }
  const tokens: Token[] = [{ kind: 'open', text: '{{', at: open }]
  let at = start
  for (;;) {
    const close = matchAt(CLOSE, template, at)
    if (close !== undefined) {
      const end = at + close.length
      return { tokens: [...tokens, { kind: 'close', text: '}}', at }], end, trims: close.length > 2 }
    }
    if (at >= template.length) throw refused(template, open, 'cannot use "{{" without "}}"')
    const token = tokenAt(template, at)
    tokens.push(token)
    at += token.text.length
  }
}

function tokenAt(template: string, at: number): Token {
  for (const [kind, form] of FORMS) {
    const text = matchAt(form, template, at)
    if (text === undefined) continue
    const end = at + text.length
    if (NAMES.includes(kind) && matchAt(AFTER_NAME, template, end) === undefined)
      throw refused(template, end, `cannot use ${shown(template, end)} after ${JSON.stringify(text)}`)
    return { kind: kind === 'identifier' ? wordKind(text) : kind, text, at }
  }
  const opener = template[at]
  if (opener === '"' || opener === '`') throw refused(template, at, 'a string without an end')
  throw refused(template, at, `cannot use ${shown(template, at)} in an action`)
}

function wordKind(word: string): TokenKind {
  if (word === 'true' || word === 'false') return 'boolean'
  return KEYWORDS.includes(word) ? 'keyword' : 'identifier'
}

function matchAt(form: RegExp, text: string, at: number): string | undefined {
  form.lastIndex = at
  return form.exec(text)?.[0]
}

const isSpace = (character: string | undefined): boolean => character !== undefined && SPACE.includes(character)

function trimmed(text: string, start: boolean, end: boolean): string {
  const from = start ? text.replace(/^[ \t\r\n]+/, '') : text
  return end ? withoutSpaceAtEnd(from) : from
}

/** Returns the text without white space at its end, in linear time. */
function withoutSpaceAtEnd(text: string): string {
  let length = text.length
  while (length > 0 && isSpace(text[length - 1])) length -= 1
  return text.slice(0, length)
}

const shown = (text: string, at: number): string => JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))

const refused = (template: string, at: number, reason: string): TemplateError =>
  new TemplateError(placeOf(template, at), reason)
