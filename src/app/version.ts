/** Version of the installed package, and the commit that a release names. */
import { createRequire } from 'node:module'

const manifest: { version: string; gitHead?: string } = createRequire(import.meta.url)('../../package.json')
export const VERSION = manifest.version
/** Version as `holdfast --version` prints it: "0.1.0 (0123456789ab)". A checkout has the version alone. */
export const VERSION_AND_COMMIT =
  manifest.gitHead === undefined
    ? VERSION
    : `${VERSION} (${manifest.gitHead.slice(0, 12)}${manifest.gitHead.endsWith('-dirty') ? ', changed' : ''})`
