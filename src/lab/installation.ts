/** Where this package is installed, and the programs of it that a lab starts. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { arch } from 'node:process'

/** Where the package is, from src, dist or a build of them; the bundle has a package.json of its own. */
export function packageRoot(): string {
  let directory = import.meta.dirname
  while (!existsSync(join(directory, 'bin', 'holdfast')) && dirname(directory) !== directory)
    directory = dirname(directory)
  return directory
}

/** The program of this package. */
export const holdfastProgram = (): string => join(packageRoot(), 'bin', 'holdfast')

export function probePath(): string {
  const path = join(packageRoot(), 'native', 'prebuilds', `linux-${arch}`, 'holdfast-probe')
  if (!existsSync(path))
    throw new Error(`Cannot find holdfast-probe: "${path}" does not exist (native/build.sh builds it)`)
  return path
}
