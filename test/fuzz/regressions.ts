/** Inputs that once failed, a file each: regressions/TARGET/NAME. NAME describes the failure. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Regression = { readonly target: string; readonly name: string; readonly input: Uint8Array }

const FOLDER = join(import.meta.dirname, 'regressions')

export function regressions(): readonly Regression[] {
  if (!existsSync(FOLDER)) return []
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: target }) =>
      readdirSync(join(FOLDER, target)).map((name) => ({
        target,
        name,
        input: new Uint8Array(readFileSync(join(FOLDER, target, name))),
      })),
    )
}
