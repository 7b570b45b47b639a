/**
 * The table of every keyword of keepalived 2.2 to 2.4 for VRRP: its block, and its handling. The import follows this
 * table, and docs/keepalived-keywords.md shows the table. Keywords are read in import-*.ts.
 */
import type { Block, Keyword } from './keyword.ts'
import { GLOBAL_KEYWORDS } from './keywords-global.ts'
import { INSTANCE_KEYWORDS } from './keywords-instance.ts'

export const KEYWORDS: readonly Keyword[] = [...GLOBAL_KEYWORDS, ...INSTANCE_KEYWORDS]

const BY_NAME = new Map(KEYWORDS.map((keyword) => [`${keyword.block}.${keyword.name}`, keyword]))

/** Returns the reason why a configuration with the keyword, which is in the table, is refused. */
export const reasonOf = (block: Block, name: string): string => `"${name}" is refused: ${keywordIn(block, name)?.says}`

/** Returns the table entry of a keyword in a block; `undefined` if keepalived has no such keyword in that block. */
export const keywordIn = (block: Block, name: string): Keyword | undefined => BY_NAME.get(`${block}.${name}`)
