/** Facts about one keyword of keepalived. The table of all keywords is keywords.ts. */

export type KeywordHandling = 'carried' | 'noEffect' | 'notSupported' | 'refused'

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
  readonly handling: KeywordHandling
  /**
   * For a keyword that is carried over: the key in holdfast that replaces the keyword. For a keyword that is not
   * carried over: the reason why the keyword has no effect, or what holdfast lacks.
   */
  readonly says: string
}

/** Returns entries for several keywords with the same handling and the same reason. */
export const keywords =
  (block: Block, handling: KeywordHandling) =>
  (says: string, ...names: readonly string[]): readonly Keyword[] =>
    names.map((name) => ({ block, name, handling, says }))
