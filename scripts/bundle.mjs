/**
 * dist/ as few files: a daemon that must be in Backup within 150 ms cannot load eighty modules one by one (it halves
 * the start). dist/bundle/ lies as deep as dist/cli/, so that paths to native/ and package.json hold in both.
 */
import { join } from 'node:path'
import { build } from 'rolldown'

const dist = join(import.meta.dirname, '..', 'dist')

await build({
  input: { main: join(dist, 'main.js'), worker: join(dist, 'api', 'worker.js') },
  platform: 'node',
  // Finds the addon's binary by looking around on the disk.
  external: ['node-gyp-build'],
  logLevel: 'warn',
  output: { dir: join(dist, 'bundle'), format: 'esm', cleanDir: true, chunkFileNames: '[name]-[hash].js' },
})
