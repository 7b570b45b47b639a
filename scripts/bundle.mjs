/**
 * dist/ as few files: a daemon that must be in Backup within 150 ms cannot load eighty modules one by one (it halves
 * the start). dist/bundle/ lies as deep as dist/cli/, so that paths to native/ and package.json hold in both.
 */
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'

const dist = join(import.meta.dirname, '..', 'dist')
const bundle = join(dist, 'bundle')
const fresh = join(dist, 'bundle.new')
const old = join(dist, 'bundle.old')

await build({
  input: { main: join(dist, 'main.js'), worker: join(dist, 'cli', 'worker.js') },
  platform: 'node',
  // They look for their binaries on the disk; the last two may not be there at all.
  external: ['node-gyp-build', 'raw-socket', 'cap'],
  logLevel: 'warn',
  output: { dir: fresh, format: 'esm', cleanDir: true, chunkFileNames: '[name]-[hash].js' },
})

// Swapped in two steps instead of emptied and filled: a daemon that starts meanwhile finds one of the two.
rmSync(old, { recursive: true, force: true })
try {
  renameSync(bundle, old)
} catch (error) {
  if (error.code !== 'ENOENT') throw error
}
renameSync(fresh, bundle)
rmSync(old, { recursive: true, force: true })
