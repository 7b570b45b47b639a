/**
 * Describes the machine of the benchmark and the versions of the daemons. This file decides how the version of each
 * daemon is read.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import type { DaemonKind } from '../../src/lab/daemons/daemon.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Machine } from './result.ts'

export const machine = (): Machine => ({
  kernel: release(),
  cpus: cpus().length,
  processor: cpus()[0]?.model ?? 'unknown',
  memoryMiB: Math.round(totalmem() / 2 ** 20),
})

/** Returns the output of a command; an empty text if the program is missing. */
function said(command: string): string {
  try {
    return execFileSync('sh', ['-c', command], { encoding: 'utf8', cwd: packageRoot() }).trim()
  } catch {
    return ''
  }
}

function holdfastVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  const commit = said('git describe --always --dirty 2>/dev/null')
  return commit === '' ? `${version}` : `${version} (${commit})`
}

export function versionOf(kind: DaemonKind): string {
  if (kind === 'holdfast') return holdfastVersion()
  // keepalived prints its version on standard error.
  const text = said(kind === 'frr' ? '/usr/lib/frr/vrrpd --version 2>&1' : 'keepalived --version 2>&1')
  return /(?:v|version )(\d[\w.]*)/.exec(text)?.[1] ?? 'of unknown version'
}

export const versionsOf = (kinds: readonly DaemonKind[]): Record<string, string> => ({
  ...Object.fromEntries(kinds.map((kind) => [kind, versionOf(kind)])),
  node: process.versions.node,
})
