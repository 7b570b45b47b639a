/** The functions of a source file with their lines, for bounds on their length. */
import { parseAst } from 'rolldown/parseAst'

export type SourceFunction = { readonly name: string; readonly lines: number }

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Returns each function with the name under which a reader finds it: its own, that of its variable or of its method. */
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

/** Returns the name that the node gives to a function in it. */
function nameOf(node: object): string | undefined {
  const named: unknown = Reflect.get(node, 'id') ?? Reflect.get(node, 'key')
  return typeof named === 'object' && named !== null && 'name' in named ? String(named.name) : undefined
}
