/**
 * Explains why an optional package (raw-socket) cannot be used. Different advice is needed in three cases: the package
 * is not installed, not built from its C++ source, or built for another Node. Other files decide the purpose of the
 * package, and what happens without it.
 */
import { messageOf } from '../base/message-of.ts'

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/**
 * Returns the reason and the advice, to continue the sentence "Cannot …: ". `needs`: what building the package requires
 * besides Node.
 */
export function whyUnavailable(name: string, needs: string, error: unknown): string {
  const text = messageOf(error).split('\n', 1)[0] ?? ''
  const missing = codeOf(error) === 'MODULE_NOT_FOUND'
  if (missing && text.includes(`'${name}'`)) {
    return `the package ${name} is not installed: npm install ${name} (building it takes ${needs})`
  }
  const why = missing ? 'is not built' : `does not load in Node.js ${process.versions.node} (${text})`
  return `the package ${name} ${why}: npm rebuild ${name} (it takes ${needs})`
}
