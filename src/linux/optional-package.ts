/**
 * What to tell an operator whose installation lacks a package that holdfast can do without (raw-socket). It is
 * C++ that npm has to build: not installed, not built and built for another Node.js are three different errands.
 * Refused here: what the package is for, and what happens without it.
 */
import { messageOf } from '../base/message-of.ts'

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** `needs`: what building it takes besides Node.js. The sentence continues "Cannot …: ". */
export function whyUnavailable(name: string, needs: string, error: unknown): string {
  const text = messageOf(error).split('\n', 1)[0] ?? ''
  const missing = codeOf(error) === 'MODULE_NOT_FOUND'
  if (missing && text.includes(`'${name}'`)) {
    return `the package ${name} is not installed: npm install ${name} (building it takes ${needs})`
  }
  const why = missing ? 'is not built' : `does not load in Node.js ${process.versions.node} (${text})`
  return `the package ${name} ${why}: npm rebuild ${name} (it takes ${needs})`
}
