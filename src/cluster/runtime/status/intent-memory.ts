/**
 * What the API said last of the cluster's wishes, for a start without the API. Decided here: where it is, and that a file
 * which cannot be used is the same as none, with a warning.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { messageOf } from '../../../base/message-of.ts'
import { ELSEWHERE_REASONS } from '../../decisions/engine/platform.ts'
import { replaceFile } from '../fact-file.ts'

export const INTENT_FILE = 'intent.json'
const VERSION = 1

const intentSchema = z.object({
  /** Left out: the API was never heard about it. */
  ingressHa: z.enum(['Enabled', 'Disabled']).optional(),
  /** Why the nodes hold no VIP; left out: they do, as far as is known. */
  elsewhere: z.object({ reason: z.enum(ELSEWHERE_REASONS), message: z.string() }).optional(),
})
const fileSchema = intentSchema.extend({ version: z.literal(VERSION) })

export type RememberedIntent = Readonly<z.output<typeof intentSchema>>

/** Returns `undefined` while nothing was written. A string says why the file cannot be used. */
export function rememberedIntent(directory: string): RememberedIntent | string | undefined {
  const file = join(directory, INTENT_FILE)
  try {
    const { success, data } = fileSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')))
    if (!success) return `Cannot use ${file}: it is not what an agent of this version writes`
    const { version: _version, ...intent } = data
    return intent
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    return `Cannot use ${file}: ${messageOf(error)}`
  }
}

/** Throws what the file system says; the earlier file stays then. */
export function rememberIntent(directory: string, intent: RememberedIntent): void {
  replaceFile(join(directory, INTENT_FILE), `${JSON.stringify({ version: VERSION, ...intent }, null, 2)}\n`)
}

export const isRemembered = (directory: string): boolean => existsSync(join(directory, INTENT_FILE))
