/** The version of the package this file was installed with, and the commit that a release names. */
import { createRequire } from 'node:module'

const manifest: { version: string; gitHead?: string } = createRequire(import.meta.url)('../../package.json')
export const VERSION = manifest.version
/** As `holdfast --version` prints it: "0.2.0 (0123456789ab)"; a checkout has the version alone. */
export const VERSION_AND_COMMIT =
  manifest.gitHead === undefined
    ? VERSION
    : `${VERSION} (${manifest.gitHead.slice(0, 12)}${manifest.gitHead.endsWith('-dirty') ? ', changed' : ''})`
