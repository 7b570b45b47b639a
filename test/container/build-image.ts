/**
 * Runs before the first test of test/container. Removes the leftovers of dead runs and then builds the image, once for all files. Without a
 * Docker engine it does nothing, because then no test runs (describeContainer).
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import { docker, engineAnswers, removeLeftovers } from '../support/docker.ts'

/** Name of an image to test instead of the image of this checkout. */
const OTHER = process.env.HOLDFAST_IMAGE
/** Name of the tested image. The image stays afterwards: its layers make the next build quick. */
export const IMAGE = OTHER ?? 'holdfast:test'
const MINUTES = 60_000

/** Builds an image that differs only in a label. */
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
