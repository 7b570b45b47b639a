/**
 * Finds the language of a configuration file, YAML or keepalived's, and reads it. A daemon that runs from keepalived's
 * file is idle while that file does not exist, because a cluster may write it later (docs/adr/0030). A reload changes
 * nothing if the file does not exist. This file knows nothing about the meaning of either language.
 */
import type { ApiOverride } from '../config/api-options.ts'
import { parseConfig } from '../config/text/yaml.ts'
import { contentsOf, digestOf, hashOf, type LoadedConfig, readText } from './configuration-file.ts'
import { loadKeepalivedConfig } from './keepalived-file.ts'
import { surroundingsHere } from './keepalived-source.ts'

/** Settings for reading a keepalived file. */
export type KeepalivedReading = {
  /** Name with which `@name` lines are compared; `undefined` for the name of this host. */
  readonly configId: string | undefined
  /** True if a missing included file is an error. */
  readonly allFiles: boolean
  /** Keys of the section `api` from the command line. */
  readonly api?: ApiOverride | undefined
}

/** `missing`: the configuration file does not exist, and that is not an error. */
export type AnyConfig = LoadedConfig & { readonly missing: boolean }

/** Reads a configuration. Without `keepalived`, the file is YAML. */
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
  const message = 'There is no such file: the daemon is idle until the file exists and a reload is ordered'
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
    "This file is in keepalived's language, not YAML: use holdfast run -f to run it, or holdfast convert to translate it"
  return { hash, problems: [{ file, line: 1, column: 1, path: '', message, severity: 'error' }] }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** Start of a block in keepalived's language, in a form that no line of YAML has. */
const KEEPALIVED_BLOCK =
  /^[ \t]*(?:global_defs|vrrp_instance|vrrp_sync_group|vrrp_script|vrrp_track_file|vrrp_track_process|virtual_server|static_ipaddress)\b[^:\n#!]*\{?[ \t]*(?:[#!].*)?$/m

/** Tells whether a text is in keepalived's language. */
export const looksLikeKeepalived = (text: string): boolean => KEEPALIVED_BLOCK.test(text)
