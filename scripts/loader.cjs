/**
 * dist/bundle/main.js, worker.js and warm-up.js are copies of this file. Each starts the part of the bundle with its
 * name, with V8's code cache if there is one (docs/adr/0038). This file decides a cache that is missing, damaged, of
 * another text or of another V8 costs time and nothing else. This file also decides which modules of Node are loaded at
 * their first use, and the folder of the caches. This file does not know what the code does; bundle.json names its
 * file.
 */
'use strict'
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { basename, join } = require('node:path')
const { setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')
const { crc32 } = require('node:zlib')

/** Modules of 2 to 10 ms each that are not needed before the first advertisement. */
const LATER = new Set(['node:child_process', 'node:crypto', 'node:fs/promises', 'node:worker_threads'])
const HEADER = 8

// Without this option V8 drops bytecode that a few collections found unused, and the next takeover compiles it again.
// It is set before anything is compiled: V8 accepts a cache only with the options with which it was made.
setFlagsFromString('--no-flush-bytecode')

const bundle = JSON.parse(readFileSync(join(__dirname, 'bundle.json'), 'utf8'))
const caches = join(__dirname, `${process.version}-${process.arch}`)
// V8 would refuse the caches of a process with other options only after reading them.
const isEngine = process.execArgv.join(' ') === bundle.options
const scripts = new Map()
const factories = new Map()
const modules = new Map()

/**
 * Returns `undefined` without a trustworthy cache. V8 does not verify what it reads: a damaged cache would crash it.
 */
function cacheOf(file, text) {
  if (!isEngine) return undefined
  try {
    const bytes = readFileSync(join(caches, `${file}.cache`))
    const data = bytes.subarray(HEADER)
    if (bytes.readUInt32LE(0) === crc32(data) && bytes.readUInt32LE(4) === crc32(text)) return data
  } catch {
    // The cache is for another Node, or is missing.
  }
  return undefined
}

/**
 * Compiles a file. It is one expression: an object with a function for each module. It is ASCII, so V8 keeps one byte a
 * character.
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
 * Writes each cache beside its name and moves it there, so a process that starts meanwhile finds a whole cache or none.
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
 * Names the main thread, which is MainThread in Node 24 and node-MainThread in Node 26: ps, pidof and `holdfast doctor`
 * show it.
 */
function nameProcess() {
  try {
    writeFileSync('/proc/self/comm', 'node')
  } catch {
    // Without /proc the name stays as Node set it.
  }
}

const entry = basename(__filename, '.js')
if (entry === 'main') nameProcess()
if (entry !== 'warm-up') load(`${entry}.js`)
else if (!isEngine) {
  // V8 accepts a cache only with the options with which it was made.
  const argv = [...bundle.options.split(' '), __filename]
  const env = { ...process.env, NODE_OPTIONS: '' }
  process.exitCode =
    require('node:child_process').spawnSync(process.execPath, argv, { env, stdio: 'inherit' }).status ?? 1
} else {
  const { warmUp } = load('warm-up.js')
  load('worker.js')
  warmUp().then(saveCaches)
}
