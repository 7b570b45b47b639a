/**
 * Whether this version's configuration has the keys that a keyword would become. Decided here: that the schema itself is
 * asked, so that an import never writes what nobody reads. This file does not know keywords.
 */
import { virtualRouterSchema } from '../config.ts'
import type { Section } from './section.ts'

const ROUTER = { name: 'a', vrid: 1, interface: 'eth0', addresses: ['192.0.2.1'] }
const answers = new Map<string, boolean>()

export function takes(example: Readonly<Record<string, unknown>>): boolean {
  const key = JSON.stringify(example)
  const known = answers.get(key) ?? virtualRouterSchema.safeParse({ ...ROUTER, ...example }).success
  answers.set(key, known)
  return known
}

/** `build`, where its keys exist; otherwise its keywords are told as not supported. */
export function whereTaken<T>(
  example: Readonly<Record<string, unknown>>,
  section: Section,
  keywords: readonly string[],
  build: () => T,
): T | undefined {
  if (takes(example)) return build()
  for (const keyword of keywords)
    for (const line of section.all(keyword))
      section.ledger.turn(line, 'notSupported', 'this version of holdfast cannot do it yet')
  return undefined
}
