/**
 * A configuration that is to be put in force: read again, judged against the node, and compared with what is in force,
 * so that it takes effect at little cost (docs/adr/0010). Decided here: that a file which has gone since the start is an
 * error now, in either language, and that nothing waits for whoever may write into it. A text that was handed over is
 * read as the file would be (docs/adr/0051). Refuses to know what reads it.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { type ConfigDiff, diffConfig } from '../config/diff.ts'
import type { Imported } from '../config/keepalived/keywords/fate.ts'
import { type NodeSettings, withSettings } from '../config/node-settings.ts'
import type { NodeView } from '../config/node-view.ts'
import { byPosition, isError, type Problem } from '../config/problem.ts'
import { resolveRouters } from '../config/resolve.ts'
import { addressFilesOf } from './address-file.ts'
import { type KeepalivedReading, loadAny } from './configuration-language.ts'
import { judgeScripts } from './script-problem.ts'

/** A configuration file read again. With `ok` the problems are warnings; otherwise there is an error among them. */
export type FreshConfig =
  | {
      readonly ok: true
      readonly config: Config
      readonly hash: string
      /** From the configuration in force to this one. */
      readonly diff: ConfigDiff
      readonly warnings: readonly Problem[]
      /** Of keepalived's file. */
      readonly imported?: Imported | undefined
    }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export type ReadOrder = {
  readonly file: string
  /** How, when it is keepalived's. */
  readonly keepalived?: KeepalivedReading | undefined
  /** What was handed over, in the place of what is in the file. */
  readonly text?: string | undefined
  /** In the place of what the configuration says. */
  readonly settings?: NodeSettings | undefined
  readonly node: NodeView
  readonly inForce: Config
}

/** Plain data. */
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

/** A pipe that nobody writes to would keep this thread, and with it the process, from ever ending. */
export function readRegular(file: string): string {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error('a regular file wanted')
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}
