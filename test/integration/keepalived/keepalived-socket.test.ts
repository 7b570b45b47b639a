/** The socket that accepts `reload` and `stop`, and the compatibility layer behind it: stop mark, pid files, dumps. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ReloadAnswer } from '../../../src/app/configuration/reload-answer.ts'
import { type LogRecord, Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import type { ControlPeer } from '../../../src/files/private-socket.ts'
import {
  CompatibilityLayer,
  type CompatibilityOptions,
  wasStopped,
} from '../../../src/keepalived/compatibility-layer.ts'
import type { DumpOrder } from '../../../src/keepalived/dump.ts'
import { openKeepalivedSocket } from '../../../src/keepalived/socket.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { FakeWorld } from '../../unit/daemon/fake-world.ts'

const WITHIN = { within: 2_000 }
const OWN = process.geteuid?.() ?? 0
let folder = ''
const open: { close(): unknown }[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-line-'))
})
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
  rmSync(folder, { recursive: true, force: true })
})

const client = (path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket))
    socket.once('error', reject)
    open.push({ close: () => socket.destroy() })
  })

describe('the socket', () => {
  async function lines(peerOf: () => ControlPeer | undefined = () => ({ pid: 7, uid: OWN })) {
    const path = join(folder, 'run', 'keepalived.sock')
    const heard: string[] = []
    const server: Server = await openKeepalivedSocket(path, {
      peerOf,
      onCommand: (command) => void heard.push(command),
      onRefused: (who) => void heard.push(`refused ${who?.uid}`),
      onProblem: (message) => void heard.push(message),
    })
    open.push(server)
    return { path, heard }
  }
  const hears = (heard: readonly string[], wanted: readonly string[]) =>
    eventually(`${wanted.length} commands`, () => heard.length >= wanted.length, {
      sight: () => heard,
      ...WITHIN,
    }).then(() => expect(heard).toEqual(wanted))

  test('the socket is for its user only, and reads line after line on one connection', async () => {
    const { path, heard } = await lines()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const monitor = await client(path)
    monitor.write('reload\nre')
    await hears(heard, ['reload'])
    monitor.write('load\r\n\n stop \n')
    await hears(heard, ['reload', 'reload', 'stop'])
    // The line was cut off, so the order in it is unknown.
    monitor.end('reload')
    const other = await client(path)
    other.write('stop\n')
    await hears(heard, ['reload', 'reload', 'stop', 'stop'])
  })

  test('the socket reports an unknown line, and disconnects a client that never ends a line', async () => {
    const { path, heard } = await lines()
    const monitor = await client(path)
    const gone = new Promise((resolve) => monitor.once('close', resolve))
    monitor.write('restart\u001b[2J\n')
    await hears(heard, ['keepalived\'s socket: cannot use "restart\\u001b[2J", expected reload or stop'])
    monitor.write('x'.repeat(100))
    await gone
    expect(heard.length).toBe(1)
  })

  test('the socket disconnects a user who may not command, and a client of unknown user', async () => {
    for (const peer of [{ pid: 7, uid: OWN + 4_711 }, undefined]) {
      const { path, heard } = await lines(() => peer)
      const refused = await client(path)
      refused.on('error', () => {})
      refused.write('stop\n')
      await hears(heard, [`refused ${peer?.uid}`])
      await open.shift()?.close()
    }
  })

  test('the socket replaces a file of an earlier run, but not one with a listener', async () => {
    mkdirSync(join(folder, 'run'))
    const path = join(folder, 'run', 'keepalived.sock')
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(path, resolve))
    open.push(other)
    await expect(lines()).rejects.toThrow(`Cannot listen on ${path}: another daemon answers there`)
  })
})

describe('the compatibility layer', () => {
  const RELOADED: ReloadAnswer = { ok: false, file: 'x', fault: 'failed', reason: 'a test', problems: [] }

  function layerWith(options: Partial<CompatibilityOptions> = {}) {
    const recorder = new Recorder(undefined, (deliver) => deliver())
    const records: LogRecord[] = []
    recorder.attach((record) => records.push(record))
    const world = new FakeWorld().start()
    const done: string[] = []
    const dumps: { order: DumpOrder; end: (error?: Error) => void }[] = []
    const given: CompatibilityOptions = { pidFile: undefined, vrrpPidFile: undefined, socket: undefined, ...options }
    const one = new CompatibilityLayer(
      given,
      {
        recorder,
        dump: (order) =>
          new Promise((resolve, reject) =>
            dumps.push({ order, end: (error) => (error === undefined ? resolve() : reject(error)) }),
          ),
        dumped: () => ({ snapshot: world.daemon.snapshot(), config: world.daemon.config }),
        reload: (trigger) => {
          done.push(trigger)
          return Promise.resolve(RELOADED)
        },
        standDown: (trigger) => {
          done.push(trigger)
          return Promise.resolve()
        },
        peerOf: () => ({ pid: 7, uid: OWN }),
        onRefused: () => done.push('refused'),
        pid: 4_711,
      },
      folder,
    )
    open.push(one)
    return { layer: one, done, dumps, records }
  }

  test('a stop is stored beside the socket until a reload, in the order of the orders', async () => {
    const socket = join(folder, 'keepalived.sock')
    const { layer: one, done } = layerWith({ socket })
    await one.open()
    const monitor = await client(socket)
    monitor.write('stop\n')
    await eventually('stop', () => done.length === 1, { sight: () => done, ...WITHIN })
    expect([wasStopped(socket), readFileSync(join(folder, 'stopped'), 'utf8').length > 0]).toEqual([true, true])
    monitor.write('reload\nstop\nreload\n')
    await eventually('the others', () => done.length === 4, { sight: () => done, ...WITHIN })
    expect(done.map((line) => line.split(': ')[1])).toEqual(['stop', 'reload', 'stop', 'reload'])
    expect(wasStopped(socket)).toBe(false)
    monitor.write('stop\n')
    await eventually('another stop', () => done.length === 5, { sight: () => done, ...WITHIN })
    await one.reload('SIGHUP')
    expect([done.at(-1), wasStopped(socket)]).toEqual(['SIGHUP', false])
  })

  test('without a socket, a stop is not stored', async () => {
    writeFileSync(join(folder, 'stopped'), 'x')
    const { layer: one } = layerWith()
    await one.reload('SIGHUP')
    expect([existsSync(join(folder, 'stopped')), wasStopped(undefined)]).toEqual([true, false])
  })

  test('pid files are written where they are wanted, not through a link, and are removed at the end', async () => {
    const precious = join(folder, 'precious')
    writeFileSync(precious, 'precious')
    symlinkSync(precious, join(folder, 'main.pid'))
    const { layer: one, records } = layerWith({
      pidFile: join(folder, 'main.pid'),
      vrrpPidFile: join(folder, 'new', 'vrrp.pid'),
    })
    await one.open()
    expect(readFileSync(join(folder, 'main.pid'), 'utf8')).toBe('4711\n')
    expect(readFileSync(join(folder, 'new', 'vrrp.pid'), 'utf8')).toBe(`${process.pid}\n`)
    expect(readFileSync(precious, 'utf8')).toBe('precious')
    // The next daemon writes its process id into the file before this daemon has ended.
    writeFileSync(join(folder, 'main.pid'), '5000\n')
    await one.close()
    expect([existsSync(join(folder, 'main.pid')), existsSync(join(folder, 'new', 'vrrp.pid'))]).toEqual([true, false])
    expect(records).toEqual([])
  })

  test('a pid file that cannot be written is a line in the log', async () => {
    writeFileSync(join(folder, 'file'), '')
    const { layer: one, records } = layerWith({ pidFile: join(folder, 'file', 'main.pid') })
    await one.open()
    expect(records.map(({ level, message }) => [level, message])).toEqual([
      ['warn', expect.stringContaining(join(folder, 'file'))],
    ])
  })

  test('one dump of a kind is written at a time, and a request during it leads to a newer one', async () => {
    const { layer: one, dumps, records } = layerWith()
    one.dump('data')
    one.dump('data')
    one.dump('data')
    one.dump('stats')
    await eventually('two', () => dumps.length === 2, { sight: () => dumps.length, ...WITHIN })
    expect(dumps.map(({ order }) => [order.kind, order.file])).toEqual([
      ['data', join(folder, 'keepalived.data')],
      ['stats', join(folder, 'keepalived.stats')],
    ])
    dumps[0]?.end()
    await eventually('the next', () => dumps.length === 3, { sight: () => dumps.length, ...WITHIN })
    dumps[2]?.end(new Error('Cannot write it: no space'))
    await eventually('the log', () => records.length > 0, { sight: () => records, ...WITHIN })
    expect(records.map(({ message }) => message)).toContain('Cannot write it: no space')
    one.dump('data')
    await eventually('one more', () => dumps.length === 4, { sight: () => dumps.length, ...WITHIN })
  })
})
