/**
 * Rewrites package.json in the folder of a package that is shipped:
 * `node scripts/shipped-manifest.mjs FOLDER [REVISION]`. This file decides that the bundle contains all npm packages
 * except node-gyp-build, which is shipped beside it. With this bundle, `npm install` needs no network and installs one
 * package.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder, revision] = process.argv.slice(2)
if (folder === undefined) throw new Error('Cannot rewrite package.json: name the folder')
const file = join(folder, 'package.json')
const { allowScripts, dependencies, devDependencies, optionalDependencies, scripts, ...kept } = JSON.parse(
  readFileSync(file, 'utf8'),
)
const shipped = {
  ...kept,
  // npm stores the commit of a package under this name; `holdfast --version` shows it.
  ...(revision ? { gitHead: revision } : {}),
  dependencies: { 'node-gyp-build': dependencies['node-gyp-build'] },
  bundleDependencies: ['node-gyp-build'],
  peerDependencies: optionalDependencies,
  peerDependenciesMeta: Object.fromEntries(Object.keys(optionalDependencies).map((name) => [name, { optional: true }])),
}
writeFileSync(file, `${JSON.stringify(shipped, null, 2)}\n`)
