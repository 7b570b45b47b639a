/**
 * A page of docs/ whose answers are tried: fenced blocks `console NAME`, each with commands behind a prompt (`r1$ …`)
 * and lines of what they answer. `…` is what differs from one time to the next. Decides what counts as answered so: the
 * lines in their order, others between them. This file does not know how a symptom is made.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')

export type Tried = {
  /** Of the lab: r1, r2, client. */
  readonly host: string
  readonly command: string
  readonly answer: readonly string[]
}

/** By the name of the block, in the order of the page. Throws where a block is not of this form. */
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

/** The first line of the page that was not answered; undefined: it was as the page has it. */
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
