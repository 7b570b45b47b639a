/**
 * In which language a configuration file is written, YAML or keepalived's, and reading it so. Decided here: a daemon
 * that was told to run from keepalived's file is idle while that file is missing, because a cluster writes it later
 * (docs/adr/0030), but a reload that does not find it changes nothing. Refuses to know what either language says.
 */
import type { ApiOverride } from '../config/api-options.ts'
import { parseConfig } from '../config/text/yaml.ts'
import { contentsOf, digestOf, hashOf, type LoadedConfig, readText } from './configuration-file.ts'
import { loadKeepalivedConfig } from './keepalived-file.ts'
import { surroundingsHere } from './keepalived-source.ts'

/** How a keepalived file is to be read. */
export type KeepalivedReading = {
  /** Which of its lines with an @ count; undefined: those with the name of this host. */
  readonly configId: string | undefined
  /** A missing file is an error. */
  readonly allFiles: boolean
  /** What the command line says of the API. */
  readonly api?: ApiOverride | undefined
}

/** `missing`: there is no such file, and that is no error. */
export type AnyConfig = LoadedConfig & { readonly missing: boolean }

/** Without `keepalived` it is YAML. */
export function loadAny(
  file: string,
  keepalived: KeepalivedReading | undefined,
  read: (file: string) => string = readText,
): AnyConfig {
  if (keepalived === undefined) return { ...loadYaml(file, read), missing: false }
  const { api, configId, allFiles } = keepalived
  const surroundings = surroundingsHere(configId)
  let missing = false
  const orNothing = (path: string): string => {
    try {
      return read(path)
    } catch (error) {
      if (allFiles || !isMissing(error)) throw error
      missing = true
      return ''
    }
  }
  const loaded = withApi(loadKeepalivedConfig(file, surroundings, orNothing), api)
  if (!missing || 'problems' in loaded) return { ...loaded, missing }
  const message = 'There is no such file: nothing runs until it is there and a reload is asked for'
  const problem = { file, line: 0, column: 0, path: '', message, severity: 'warning' } as const
  return { ...loaded, warnings: [problem], missing }
}

function withApi(loaded: LoadedConfig, api: ApiOverride | undefined): LoadedConfig {
  if ('problems' in loaded || api === undefined) return loaded
  return { ...loaded, config: { ...loaded.config, api: { ...loaded.config.api, ...api } } }
}

function loadYaml(file: string, read: (file: string) => string): LoadedConfig {
  const text = contentsOf(file, read)
  if (typeof text !== 'string') return { hash: '', problems: [text] }
  const hash = hashOf(digestOf(text))
  const parsed = parseConfig(text, file)
  if (!('problems' in parsed) || !looksLikeKeepalived(text)) return { hash, ...parsed }
  const message =
    "This is keepalived's configuration, not YAML: holdfast run -f runs it, holdfast convert translates it"
  return { hash, problems: [{ file, line: 1, column: 1, path: '', message, severity: 'error' }] }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** A block of keepalived's that opens, as no line of YAML could look. */
const KEEPALIVED_BLOCK =
  /^[ \t]*(?:global_defs|vrrp_instance|vrrp_sync_group|vrrp_script|vrrp_track_file|vrrp_track_process|virtual_server|static_ipaddress)\b[^:\n#!]*\{?[ \t]*(?:[#!].*)?$/m

export const looksLikeKeepalived = (text: string): boolean => KEEPALIVED_BLOCK.test(text)
