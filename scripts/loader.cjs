/**
 * dist/bundle/main.js, worker.js and warm-up.js are copies of this file: each starts the part of the bundle that has its
 * name, with V8's code cache where there is one (docs/adr/0038). Decided here: that a cache which is missing, damaged, of
 * another text or another V8's costs time and nothing else, which of Node's own modules wait until somebody uses them,
 * and where caches lie. Refuses to know what the code does; bundle.json says which file it is in.
 */
'use strict'
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { basename, join } = require('node:path')
const { setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')
const { crc32 } = require('node:zlib')

/** 2 to 10 ms each, and nothing needs them before the first advertisement. */
const LATER = new Set(['node:child_process', 'node:crypto', 'node:fs/promises', 'node:worker_threads'])
const HEADER = 8

// Otherwise bytecode that was not used for a few collections is thrown away, and the next takeover is a first one. Before
// anything is compiled: V8 takes a cache only with the options with which it was made.
setFlagsFromString('--no-flush-bytecode')

const bundle = JSON.parse(readFileSync(join(__dirname, 'bundle.json'), 'utf8'))
const caches = join(__dirname, `${process.version}-${process.arch}`)
// Others are rejected by V8, after they were read.
const isEngine = process.execArgv.join(' ') === bundle.options
const scripts = new Map()
const factories = new Map()
const modules = new Map()

/** Undefined: there is none that can be trusted. V8 does not look at what it reads: a damaged one would crash it. */
function cacheOf(file, text) {
  if (!isEngine) return undefined
  try {
    const bytes = readFileSync(join(caches, `${file}.cache`))
    const data = bytes.subarray(HEADER)
    if (bytes.readUInt32LE(0) === crc32(data) && bytes.readUInt32LE(4) === crc32(text)) return data
  } catch {
    // Made for another Node, or not at all.
  }
  return undefined
}

/** A file is one expression: an object with a function for each module. ASCII, so that V8 keeps one byte a character. */
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

/** Beside its name and moved there: whoever starts meanwhile finds the whole of it or nothing. */
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

/** Node 24 calls the main thread MainThread, Node 26 node-MainThread: ps, pidof and `holdfast doctor` show that name. */
function nameProcess() {
  try {
    writeFileSync('/proc/self/comm', 'node')
  } catch {
    // Only the name is another one.
  }
}

const entry = basename(__filename, '.js')
if (entry === 'main') nameProcess()
if (entry !== 'warm-up') load(`${entry}.js`)
else if (!isEngine) {
  // V8 takes a cache only with the options with which it was made.
  const argv = [...bundle.options.split(' '), __filename]
  const env = { ...process.env, NODE_OPTIONS: '' }
  process.exitCode =
    require('node:child_process').spawnSync(process.execPath, argv, { env, stdio: 'inherit' }).status ?? 1
} else {
  const { warmUp } = load('warm-up.js')
  load('worker.js')
  warmUp().then(saveCaches)
}
