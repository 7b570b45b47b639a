/** Lists the functions of a source file with their lines, for limits on the length of functions. */
import { parseAst } from 'rolldown/parseAst'

export type SourceFunction = { readonly name: string; readonly lines: number }

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Returns each function of a TypeScript file. The name of a function is its own, or that of its variable or method. */
export function functionsOf(text: string): readonly SourceFunction[] {
  const found: SourceFunction[] = []
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length
  const visit = (node: unknown, outer: string): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, outer)
    if (typeof node !== 'object' || node === null || !('type' in node)) return
    const name = nameOf(node) ?? outer
    if (FUNCTIONS.has(String(node.type)) && 'start' in node && 'end' in node)
      found.push({ name, lines: lineOf(Number(node.end)) - lineOf(Number(node.start)) + 1 })
    for (const value of Object.values(node)) visit(value, name)
  }
  visit(parseAst(text, { lang: 'ts' }).body, '')
  return found
}

/** Returns the name that this syntax node gives to a function inside it; `undefined` if it gives none. */
function nameOf(node: object): string | undefined {
  const named: unknown = Reflect.get(node, 'id') ?? Reflect.get(node, 'key')
  return typeof named === 'object' && named !== null && 'name' in named ? String(named.name) : undefined
}

/** Matches the first line of a C declaration of a type or of data, which is no function. */
const NO_FUNCTION = /^(?:typedef|struct|union|enum|extern "C")\b[^()]*\{$|=\s*\{$/

/**
 * Returns each function of a C source file: from the line in the first column that declares the function to the closing
 * brace in the first column. The name of a function is the word before the first parenthesis.
 */
export function functionsInC(text: string): readonly SourceFunction[] {
  const found: SourceFunction[] = []
  const lines = text.split('\n')
  let first = 0
  let body: number | undefined
  for (const [i, line] of lines.entries()) {
    if (line.startsWith('}')) {
      const name = /(\w+)\(/.exec(lines.slice(first, body).join(' '))?.[1]
      if (body !== undefined && name !== undefined) found.push({ name, lines: i - first + 1 })
      body = undefined
    } else if (body === undefined) {
      if (/^\w/.test(line)) first = i
      const declaration = lines.slice(first, i + 1).join(' ')
      if (line.endsWith('{') && declaration.includes('(') && !NO_FUNCTION.test(declaration)) body = i + 1
    }
  }
  return found
}
