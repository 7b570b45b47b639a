/**
 * Reads a page of docs/ whose command outputs are compared with real ones. The page has fenced blocks `console NAME`,
 * each with commands behind a prompt (`r1$ …`) and lines of their output. `…` stands for text that differs each time.
 * This file decides that an output matches if it has the lines of the page in their order; other lines may stand
 * between them. This file does not know how a symptom is made.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')

export type Tried = {
  /** Host of the lab on which the command runs: r1, r2 or client. */
  readonly host: string
  readonly command: string
  readonly answer: readonly string[]
}

/**
 * Returns the commands of each block by the block's name, in the order of the page. Throws for a block of another form.
 */
export function triedBlocks(page: string): Map<string, readonly Tried[]> {
  const blocks = new Map<string, readonly Tried[]>()
  const text = readFileSync(join(DOCS, page), 'utf8')
  for (const [, name = '', body = ''] of text.matchAll(/^```console ([\w-]+)\n(.*?)^```$/gms)) {
    if (blocks.has(name)) throw new Error(`docs/${page} has two blocks ${name}`)
    blocks.set(name, commandsOf(name, body))
  }
  return blocks
}

function commandsOf(name: string, body: string): Tried[] {
  const tried: { host: string; command: string; answer: string[] }[] = []
  for (const line of body.trimEnd().split('\n')) {
    const [, host, command] = /^(\w+)\$ (.+)$/.exec(line) ?? []
    if (host !== undefined && command !== undefined) tried.push({ host, command, answer: [] })
    else if (tried.length === 0) throw new Error(`Block ${name} does not begin with a command: ${line}`)
    else tried.at(-1)?.answer.push(line.trim())
  }
  return tried
}

const asPattern = (line: string): RegExp =>
  new RegExp(`^${line.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*')}$`)

/** Returns the first line of the page that is missing in the real output; `undefined` if no line is missing. */
export function missingLine({ answer }: Tried, output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.trim())
  let from = 0
  for (const wanted of answer) {
    const found = lines.findIndex((line, at) => at >= from && asPattern(wanted).test(line))
    if (found < 0) return wanted
    from = found + 1
  }
  return undefined
}
