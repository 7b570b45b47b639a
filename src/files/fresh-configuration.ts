/**
 * Prepares a new configuration: reads the file again, checks the configuration on this node, and compares it with the
 * configuration in force (docs/adr/0010). A file that has disappeared since the start is an error, in either language.
 * Reading never waits for a program that may write the file. A text that was handed over is read like the file
 * (docs/adr/0051). This file knows nothing about the thread.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { type ConfigDiff, diffConfig } from '../config/diff.ts'
import type { Imported } from '../config/keepalived/keywords/handling.ts'
import { type NodeSettings, withSettings } from '../config/node-settings.ts'
import type { NodeView } from '../config/node-view.ts'
import { byPosition, isError, type Problem } from '../config/problem.ts'
import { resolveRouters } from '../config/resolve.ts'
import { addressFilesOf } from './address-file.ts'
import { type KeepalivedReading, loadAny } from './configuration-language.ts'
import { judgeScripts } from './script-problem.ts'

/**
 * A configuration that was read again. If `ok` is true, the problems are warnings; otherwise at least one problem is an
 * error.
 */
export type FreshConfig =
  | {
      readonly ok: true
      readonly config: Config
      readonly hash: string
      /** Difference from the configuration in force. */
      readonly diff: ConfigDiff
      readonly warnings: readonly Problem[]
      /** Handling of the keywords; only for a keepalived file. */
      readonly imported?: Imported | undefined
    }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export type ReadOrder = {
  readonly file: string
  /** Settings for keepalived's file; absent for YAML. */
  readonly keepalived?: KeepalivedReading | undefined
  /** Text of a configuration that was handed over, in place of the file. */
  readonly text?: string | undefined
  /** Settings of the command line that replace keys of the configuration. */
  readonly settings?: NodeSettings | undefined
  readonly node: NodeView
  readonly inForce: Config
}

/** Reads and checks a configuration. The returned value is plain data, so a thread can send it. */
export async function freshConfig(order: ReadOrder): Promise<FreshConfig> {
  const { file, keepalived, text, settings = {}, node, inForce } = order
  const reading = keepalived === undefined ? undefined : { ...keepalived, allFiles: true }
  const loaded = loadAny(file, reading, text === undefined ? readRegular : () => text)
  if ('problems' in loaded) return { ok: false, problems: loaded.problems }
  const { hash, warnings, locate, imported } = loaded
  const { config: read, problems: scripts } = await judgeScripts(withSettings(loaded.config, settings), locate)
  const here = { ...node, files: addressFilesOf(read, node.files) }
  const { config, problems: found } = resolveRouters(read, here, locate)
  const problems: Problem[] = [...warnings, ...found, ...scripts]
  problems.sort(byPosition)
  if (problems.some(isError)) return { ok: false, problems }
  return { ok: true, config, hash, diff: diffConfig(inForce, config), warnings: problems, imported }
}

/** Reads a regular file only, because opening a pipe without a writer would block this thread for ever. */
export function readRegular(file: string): string {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error('it is not a regular file')
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}
