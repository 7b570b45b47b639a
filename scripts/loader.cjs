/**
 * Starts one part of the bundle: dist/bundle/main.js, worker.js and warm-up.js are copies of this file, and each starts
 * the part with its own name. The part is compiled with V8's code cache if there is one (docs/adr/0038). This file
 * decides that a cache that is missing, damaged, or made for another text or another V8 only costs time. This file also
 * decides which modules of Node.js are loaded at their first use, and the folder of the caches. This file does not know
 * what the code does; bundle.json names the files.
 */
'use strict'
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { basename, join } = require('node:path')
const { setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')
const { crc32 } = require('node:zlib')

/** Modules of Node.js that are not needed before the first advertisement. Such a module takes 2 to 10 ms to load. */
const LATER = new Set(['node:child_process', 'node:crypto', 'node:fs/promises', 'node:worker_threads'])
const HEADER = 8

// Without this option, V8 drops bytecode that was not used during a few garbage collections, and the next takeover
// compiles that code again. The option is set before any code is compiled, because V8 accepts a cache only with the
// options with which the cache was made.
setFlagsFromString('--no-flush-bytecode')

const bundle = JSON.parse(readFileSync(join(__dirname, 'bundle.json'), 'utf8'))
const caches = join(__dirname, `${process.version}-${process.arch}`)
// V8 refuses the caches in a process with other options, but only after it has read them.
const isEngine = process.execArgv.join(' ') === bundle.options
const scripts = new Map()
const factories = new Map()
const modules = new Map()

/**
 * Returns the code cache for a file; `undefined` if there is no trustworthy cache. V8 does not verify the cache: a
 * damaged cache would crash it.
 */
function cacheOf(file, text) {
  if (!isEngine) return undefined
  try {
    const bytes = readFileSync(join(caches, `${file}.cache`))
    const data = bytes.subarray(HEADER)
    if (bytes.readUInt32LE(0) === crc32(data) && bytes.readUInt32LE(4) === crc32(text)) return data
  } catch {
    // The cache was made for another version of Node.js, or is missing.
  }
  return undefined
}

/**
 * Compiles a file of the bundle. The file is one expression: an object with a function for each module. The file is
 * ASCII, so V8 stores one byte for each character.
 */
function compile(file) {
  const filename = join(__dirname, file)
  const text = readFileSync(filename)
  const script = new Script(text.latin1Slice(), { filename, cachedData: cacheOf(file, text) })
  scripts.set(file, script)
  for (const [name, factory] of Object.entries(script.runInThisContext())) factories.set(name, factory)
}

function load(name) {
  const known = modules.get(name)
  if (known !== undefined) return known.exports
  if (!factories.has(name)) compile(bundle.files[name])
  const module = { exports: {} }
  modules.set(name, module)
  factories.get(name)(module.exports, requireFor, module, __filename, __dirname)
  return module.exports
}

function requireFor(name) {
  if (name.startsWith('./')) return load(name.slice(2))
  return LATER.has(name) ? later(name) : require(name)
}

function later(name) {
  let real
  return new Proxy(
    {},
    {
      get: (_, key) => {
        real ??= require(name)
        return real[key]
      },
    },
  )
}

/**
 * Writes the code cache of each file under another name and then renames it, so that a process that starts at this
 * moment finds a whole cache or none.
 */
function saveCaches() {
  mkdirSync(caches, { recursive: true })
  for (const [file, script] of scripts) {
    const data = script.createCachedData()
    const header = Buffer.alloc(HEADER)
    header.writeUInt32LE(crc32(data), 0)
    header.writeUInt32LE(crc32(readFileSync(join(__dirname, file))), 4)
    const path = join(caches, `${file}.cache`)
    writeFileSync(`${path}.new`, Buffer.concat([header, data]))
    renameSync(`${path}.new`, path)
  }
}

/**
 * Sets the name of the main thread, which ps, pidof and `holdfast doctor` show. Node.js 24 calls the thread MainThread,
 * Node.js 26 node-MainThread.
 */
function nameProcess() {
  try {
    writeFileSync('/proc/self/comm', 'node')
  } catch {
    // Without /proc, the thread keeps the name that Node.js has set.
  }
}

const entry = basename(__filename, '.js')
if (entry === 'main') nameProcess()
if (entry !== 'warm-up') load(`${entry}.js`)
else if (!isEngine) {
  // V8 accepts a cache only with the options with which the cache was made.
  const argv = [...bundle.options.split(' '), __filename]
  const env = { ...process.env, NODE_OPTIONS: '' }
  process.exitCode =
    require('node:child_process').spawnSync(process.execPath, argv, { env, stdio: 'inherit' }).status ?? 1
} else {
  const { warmUp } = load('warm-up.js')
  load('worker.js')
  warmUp().then(saveCaches)
}
