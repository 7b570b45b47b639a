/**
 * Every keyword of keepalived 2.2 to 2.4 that has to do with VRRP, where it stands, and what becomes of it: the one
 * table that the import obeys and that docs/keepalived-keywords.md shows. This file does not know how a keyword
 * is read (import-*.ts).
 */
import type { Block, Keyword } from './keyword.ts'
import { GLOBAL_KEYWORDS } from './keywords-global.ts'
import { INSTANCE_KEYWORDS } from './keywords-instance.ts'

export const KEYWORDS: readonly Keyword[] = [...GLOBAL_KEYWORDS, ...INSTANCE_KEYWORDS]

const BY_NAME = new Map(KEYWORDS.map((keyword) => [`${keyword.block}.${keyword.name}`, keyword]))

/** Returns why a configuration with the keyword is refused. */
export const reasonOf = (block: Block, name: string): string =>
  `"${name}" is refused: ${keywordIn(block, name)?.says ?? ''}`

export const keywordIn = (block: Block, name: string): Keyword | undefined => BY_NAME.get(`${block}.${name}`)
