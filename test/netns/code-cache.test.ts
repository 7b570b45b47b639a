/**
 * The code cache of the bundle (docs/adr/0038). V8 accepts the cache with the options of bin/holdfast. A package with a damaged, foreign or
 * missing cache also starts. test/support/watched-scripts.mjs reports whether V8 accepted the cache.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PRELOAD = join(ROOT, 'test', 'support', 'watched-scripts.mjs')
const HEADER = 8
const TAKEN = { given: true, taken: true }

type Compiled = { readonly thread: string; readonly file: string; readonly given: boolean; readonly taken: boolean }

const compiledIn = (file: string): readonly Compiled[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('the code cache of the bundle', () => {
  let home = ''
  let cache = ''
  let sound = Buffer.alloc(0)

  /** Creates a package that only this test uses. */
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'holdfast-code-cache-'))
    for (const part of ['bin', join('dist', 'bundle'), 'package.json'])
      cpSync(join(ROOT, part), join(home, part), { recursive: true })
    for (const part of ['native', 'node_modules']) symlinkSync(join(ROOT, part), join(home, part))
    cache = join(home, 'dist', 'bundle', `${process.version}-${process.arch}`, 'engine.js.cache')
    sound = readFileSync(cache)
  })
  beforeEach(() => writeFileSync(cache, sound))
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  /** Starts the daemon with a missing configuration. By the time of that error, the whole engine is loaded. */
  function start() {
    const scripts = join(home, 'scripts')
    writeFileSync(scripts, '')
    const missing = join(home, 'missing.yaml')
    const env = { ...process.env, NODE_OPTIONS: `--import=${PRELOAD}`, SCRIPTS: scripts }
    const { status, stderr } = spawnSync(join(home, 'bin', 'holdfast'), ['run', '-c', missing], {
      ...{ encoding: 'utf8', env, timeout: 30_000 },
    })
    return { status, stderr, compiled: compiledIn(scripts) }
  }
  /** Builds the expected results: `engine` for the engine's file, and an accepted cache for the two other files. */
  const started = (engine: object) => ({
    status: 78,
    stderr: expect.stringContaining('there is no such file'),
    compiled: [
      expect.objectContaining({ file: 'engine.js', ...engine }),
      expect.objectContaining({ file: 'configuration.js', ...TAKEN }),
      expect.objectContaining({ file: expect.stringMatching(/^schemas-.*\.js$/), ...TAKEN }),
    ],
  })

  test('V8 accepts the cache if bin/holdfast starts the package', () => {
    expect(start()).toEqual(started(TAKEN))
  })

  const flipped = (at: number) => {
    const bytes = Buffer.from(sound)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at)
    return bytes
  }

  test.each<[string, () => Buffer]>([
    ['one byte is another', () => flipped(sound.length >> 1)],
    ['its end is missing', () => sound.subarray(0, sound.length - 1000)],
    ['it is empty', () => Buffer.alloc(0)],
    ['it belongs to another text', () => flipped(4)],
  ])('is not given to V8 when %s', (_, bytes) => {
    writeFileSync(cache, bytes())
    expect(start()).toEqual(started({ given: false, taken: false }))
  })

  test('a package without the cache starts', () => {
    rmSync(cache)
    expect(start()).toEqual(started({ given: false, taken: false }))
  })

  test('V8 rejects the cache of another V8 version, and the package still starts', () => {
    const foreign = flipped(HEADER + 5)
    foreign.writeUInt32LE(crc32(foreign.subarray(HEADER)), 0)
    writeFileSync(cache, foreign)
    expect(start()).toEqual(started({ given: true, taken: false }))
  })
})

describe('the worker thread', () => {
  test('a worker thread that serves metrics does not load the configuration reader', async () => {
    const lab = createLab({ routers: 1, clients: [] })
    try {
      const host = lab.router(1)
      const scripts = join(lab.directory, 'scripts')
      const launcher = ['env', `NODE_OPTIONS=--import=${PRELOAD}`, `SCRIPTS=${scripts}`]
      const plan = { host, priority: 100, intervalMs: 100, address: LAB_VIP }
      const top = { api: { listen: '127.0.0.1:9655', metricsCompat: 'keepalived-exporter' } }
      const daemon = new Holdfast(lab, plan, {}, [], top, launcher)
      await eventually(
        'the port to be open',
        () => daemon.records.some(({ msg }) => msg.startsWith('Serving /metrics')),
        { sight: () => daemon.lines.map(({ text }) => text), within: 20_000 },
      )
      const files = compiledIn(scripts).flatMap(({ thread, file }) => (thread === 'worker' ? [file] : []))
      expect(files).toEqual(['checks.js', expect.stringMatching(/^metrics-page-/), expect.stringMatching(/^counts-/)])
    } finally {
      lab.destroy()
    }
  })
})
