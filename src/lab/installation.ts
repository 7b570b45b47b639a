/** Finds the folder in which this package is installed, and the paths of the programs that a lab starts. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { arch } from 'node:process'

/**
 * Returns the root folder of the package, for a caller in src, in dist or in a build of them. The bundle has a
 * package.json of its own, which is not the root.
 */
export function packageRoot(): string {
  let directory = import.meta.dirname
  while (!existsSync(join(directory, 'bin', 'holdfast')) && dirname(directory) !== directory)
    directory = dirname(directory)
  return directory
}

/** Returns the path of the program `holdfast` in this package. */
export const holdfastProgram = (): string => join(packageRoot(), 'bin', 'holdfast')

export function probePath(): string {
  const path = join(packageRoot(), 'native', 'prebuilds', `linux-${arch}`, 'holdfast-probe')
  if (!existsSync(path))
    throw new Error(`Cannot find holdfast-probe: "${path}" does not exist (native/build.sh builds it)`)
  return path
}
