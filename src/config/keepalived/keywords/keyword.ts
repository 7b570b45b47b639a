/**
 * What is known of one keyword. Values only: the table is keywords.ts.
 */

export type KeywordFate = 'carried' | 'noEffect' | 'notSupported' | 'refused'

export type Block =
  | 'file'
  | 'global_defs'
  | 'vrrp_instance'
  | 'authentication'
  | 'vrrp_sync_group'
  | 'vrrp_script'
  | 'track_file'
  | 'vrrp_track_process'
  | 'garp_group'

export type Keyword = {
  readonly block: Block
  readonly name: string
  readonly fate: KeywordFate
  /** Carried: the key it becomes. Otherwise why it has no effect, or what is missing without it. */
  readonly says: string
}

/** Several keywords that share a fate and its reason. */
export const keywords =
  (block: Block, fate: KeywordFate) =>
  (says: string, ...names: readonly string[]): readonly Keyword[] =>
    names.map((name) => ({ block, name, fate, says }))
