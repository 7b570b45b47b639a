/**
 * Stores the wishes that the API reported last, for a start without the API. This file decides the file. An invalid
 * file causes a warning and is otherwise ignored.
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
  /** Last reported value of ingressHa; absent if the API never reported a value. */
  ingressHa: z.enum(['Enabled', 'Disabled']).optional(),
  /** Reason why the nodes hold no VIP; absent if they hold the VIPs. */
  elsewhere: z.object({ reason: z.enum(ELSEWHERE_REASONS), message: z.string() }).optional(),
})
const fileSchema = intentSchema.extend({ version: z.literal(VERSION) })

export type RememberedIntent = Readonly<z.output<typeof intentSchema>>

/**
 * Returns the wishes that an earlier run stored; `undefined` without a file, or an error text if the file is invalid.
 */
export function rememberedIntent(directory: string): RememberedIntent | string | undefined {
  const file = join(directory, INTENT_FILE)
  try {
    const { success, data } = fileSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')))
    if (!success) return `Cannot use ${file}: this version of the agent did not write it`
    const { version: _version, ...intent } = data
    return intent
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    return `Cannot use ${file}: ${messageOf(error)}`
  }
}

/** Stores the wishes. Throws the error of the file system; in that case the old file stays. */
export function rememberIntent(directory: string, intent: RememberedIntent): void {
  replaceFile(join(directory, INTENT_FILE), `${JSON.stringify({ version: VERSION, ...intent }, null, 2)}\n`)
}

export const isRemembered = (directory: string): boolean => existsSync(join(directory, INTENT_FILE))
