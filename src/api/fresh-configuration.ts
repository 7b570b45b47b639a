/**
 * A configuration that is to be put in force: read again, judged against the node, and compared with what is in force,
 * so that it takes effect at little cost (docs/adr/0010). Decided here: that a file which has gone since the start is an
 * error now, in either language, and that nothing waits for whoever may write into it. Refuses to know what reads it.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { diffConfig } from '../config/diff.ts'
import { byPosition, isError, type Problem } from '../config/problem.ts'
import { resolveRouters } from '../config/resolve.ts'
import { loadAny } from './configuration-language.ts'
import { judgeScripts } from './script-problem.ts'
import type { FreshConfig, ReadOrder } from './worker-message.ts'

/** Plain data. */
export async function freshConfig({ file, keepalived, node, inForce }: ReadOrder): Promise<FreshConfig> {
  const reading = keepalived === undefined ? undefined : { ...keepalived, allFiles: true }
  const loaded = loadAny(file, reading, readRegular)
  if ('problems' in loaded) return { ok: false, problems: loaded.problems }
  const { hash, warnings, locate, imported } = loaded
  const { config: read, problems: scripts } = await judgeScripts(loaded.config, locate)
  const { config, problems: found } = resolveRouters(read, node, locate)
  const problems: Problem[] = [...warnings, ...found, ...scripts]
  problems.sort(byPosition)
  if (problems.some(isError)) return { ok: false, problems }
  return { ok: true, config, hash, diff: diffConfig(inForce, config), warnings: problems, imported }
}

/** A pipe that nobody writes to would keep this thread, and with it the process, from ever ending. */
function readRegular(file: string): string {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error('a reload wants a regular file')
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}
