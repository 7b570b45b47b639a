/** The version of the package this file was installed with. */
import { createRequire } from 'node:module'

const manifest: { version: string } = createRequire(import.meta.url)('../../package.json')
export const VERSION = manifest.version
