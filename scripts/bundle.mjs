/**
 * Makes dist/bundle/, which has few files. A daemon that must reach the state Backup within 150 ms cannot load eighty
 * modules one by one: that would double the time of its start. dist/bundle/ is as deep as dist/app/, so that relative
 * paths to native/ and package.json are right in both. This file decides which modules share a file because they are
 * always loaded together (docs/adr/0038).
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const bundle = join(dist, 'bundle')
const fresh = join(dist, 'bundle.new')
const old = join(dist, 'bundle.old')
const ENTRIES = ['main', 'worker', 'warm-up']

// V8 options of the engine process. V8 refuses a code cache that was made with other options.
const options = /^options='(.*)'$/m.exec(readFileSync(join(root, 'bin', 'holdfast'), 'utf8'))?.[1]
if (options === undefined) throw new Error("Cannot find the line options='…' in bin/holdfast")

/**
 * Replaces the package whatwg-url by Node's own URL. node-fetch uses Node's URL, but loads whatwg-url too, for a
 * Node.js without URL. The package would add 450 KB and the module punycode, about which every Node.js from version 21
 * on warns.
 */
const nodeUrl = {
  name: 'node-url',
  resolveId: (id) => (id === 'whatwg-url' ? '\0node-url' : undefined),
  load: (id) => (id === '\0node-url' ? 'module.exports = { URL, URLSearchParams }' : undefined),
}

const { output } = await build({
  input: {
    main: join(dist, 'main.js'),
    worker: join(dist, 'app', 'worker.js'),
    'warm-up': join(dist, 'app', 'warm-up.js'),
  },
  platform: 'node',
  // The packages of this list look for their binaries on the disk, so they stay outside of the bundle. The last package
  // of this list may be missing.
  external: ['node-gyp-build', 'raw-socket'],
  plugins: [nodeUrl],
  logLevel: 'warn',
  write: false,
  output: {
    format: 'cjs',
    chunkFileNames: '[name]-[hash].js',
    // Comments and characters outside of ASCII would use memory in every daemon. Names and lines stay, for stack
    // traces.
    comments: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  },
})
const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]))
for (const { fileName, code } of output)
  if (Buffer.byteLength(code) !== code.length) throw new Error(`Cannot bundle ${fileName}: it is not ASCII`)

/** Returns `name@version` of the npm package to which a module belongs; `undefined` for holdfast's own modules. */
function packageOf(module) {
  const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module) ?? []
  if (folder === undefined) return undefined
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return `${name}@${version}`
}
// Names and versions of the npm packages in the bundle, for the bill of materials.
const packages = new Set(output.flatMap(({ moduleIds }) => moduleIds.flatMap((each) => packageOf(each) ?? [])))
writeFileSync(join(dist, 'packages.json'), JSON.stringify([...packages].sort()))

/** Returns the chunk with this file name, and all chunks that it imports statically. */
function closure(fileName, seen = new Set()) {
  if (seen.has(fileName) || !chunks.has(fileName)) return seen
  seen.add(fileName)
  for (const each of chunks.get(fileName).imports) closure(each, seen)
  return seen
}
const named = (module) => {
  const found = output.find(({ moduleIds }) => moduleIds.at(-1) === join(dist, ...module))
  if (found === undefined) throw new Error(`Cannot find ${join(...module)} in the bundle`)
  return found.fileName
}

const closures = (entries) => new Set(entries.flatMap((entry) => [...closure(entry)]))
const later = (chunk) => chunks.get(chunk).dynamicImports
const port = named(['http', 'public-port.js'])
const run = named(['app', 'run.js'])
const reader = named(['files', 'fresh-configuration.js'])
const dump = named(['keepalived', 'dump.js'])

const engine = closures(['main.js', named(['cli', 'program.js']), run])
const worker = closures(['worker.js', port])
// The engine loads the configuration reader at its start; the worker thread loads it for a reload.
const configuration = new Set([...closure(reader)].filter((each) => engine.has(each)))
// The worker thread also needs zod for the answers of other nodes, so zod is a file of its own.
const zod = [...configuration].filter((each) => /\/zod\//.test(chunks.get(each).moduleIds.join()))
for (const each of zod) for (const group of [engine, configuration]) group.delete(each)

/**
 * Returns the chunks that a thread lacks for the parts that it loads later. A part that is loaded later must not load a
 * large file of the other thread for one function. For this reason code that such a part needs is in the files of both
 * threads, unless the part also needs the configuration reader.
 */
const lacking = (own, parts) =>
  [...closures(parts)].filter((each) => (engine.has(each) || worker.has(each)) && !own.has(each) && !zod.includes(each))
const forWorker = lacking(
  worker,
  [...later('worker.js'), ...later(port)].filter((each) => each !== reader && each !== dump),
)
const forEngine = lacking(engine, later(run))
if (forWorker.some((each) => chunks.get(each).code.length > 30_000))
  throw new Error(`Cannot bundle the worker: one of ${forWorker.join(', ')} is large and would be in it twice`)

/**
 * Output files with their chunks. A chunk that both threads need is in the files of both, so that each thread reads
 * only its own files.
 */
const files = new Map([
  ['engine.js', new Set([...engine, ...forEngine].filter((each) => !configuration.has(each)))],
  ['configuration.js', configuration],
  ['checks.js', new Set([...worker, ...forWorker])],
  ['played.js', new Set(['warm-up.js'])],
])
for (const name of chunks.keys())
  if (![...files.values()].some((each) => each.has(name))) files.set(name, new Set([name]))

rmSync(fresh, { recursive: true, force: true })
mkdirSync(fresh, { recursive: true })
const places = {}
for (const [file, names] of [...files].reverse()) {
  const functions = [...names].map((name) => {
    places[name] = file
    return `${JSON.stringify(name)}: function (exports, require, module, __filename, __dirname) {\n${chunks.get(name).code}\n}`
  })
  writeFileSync(join(fresh, file), `({ __proto__: null,\n${functions.join(',\n')}\n})\n`)
}
writeFileSync(join(fresh, 'bundle.json'), JSON.stringify({ options, files: places }))
writeFileSync(join(fresh, 'package.json'), '{ "type": "commonjs" }\n')
for (const entry of ENTRIES) copyFileSync(join(import.meta.dirname, 'loader.cjs'), join(fresh, `${entry}.js`))

const made = spawnSync(process.execPath, [join(fresh, 'warm-up.js')], { stdio: 'inherit' })
if (made.status !== 0) throw new Error('Cannot make the code cache')

// The daemon serves the status page as it was written, from a folder beside the code that serves it.
cpSync(join(import.meta.dirname, '..', 'src', 'http', 'page'), join(fresh, 'page'), { recursive: true })

// The folder is replaced in two steps, so that a daemon that starts at this moment finds the old or the new folder.
rmSync(old, { recursive: true, force: true })
try {
  renameSync(bundle, old)
} catch (error) {
  if (error.code !== 'ENOENT') throw error
}
renameSync(fresh, bundle)
rmSync(old, { recursive: true, force: true })
