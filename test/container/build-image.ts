/**
 * Before the first test of test/container: what dead runs have left goes, then the image is built, once for all files. Without
 * an engine nothing is done, because then nothing runs (describeContainer).
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import { docker, engineAnswers, removeLeftovers } from '../support/docker.ts'

/** Another image may be tried in place of this checkout's. */
const OTHER = process.env.HOLDFAST_IMAGE
/** Kept afterwards: the layers under it make the next build quick. */
export const IMAGE = OTHER ?? 'holdfast:test'
const MINUTES = 60_000

/** Another image that is the same but for a label. */
export function buildRevision(name: string, label: string, revision: string): void {
  docker(['build', '--tag', name, '-'], MINUTES, `FROM ${IMAGE}\nLABEL ${label}=${revision}\n`)
}

export function setup(): void {
  if (!engineAnswers()) return
  removeLeftovers()
  if (OTHER !== undefined) return
  execFileSync(join(packageRoot(), 'scripts', 'base-images.sh'), { stdio: ['ignore', 'inherit', 'inherit'] })
  docker(['build', '--target', 'runtime', '--tag', IMAGE, packageRoot()], 10 * MINUTES)
}

export function teardown(): void {
  if (engineAnswers()) removeLeftovers()
}
