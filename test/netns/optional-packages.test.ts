/**
 * An installation by `npm install --ignore-scripts` or `--omit=optional`. The daemon and `holdfast capture` run. With `io: raw-socket`, one
 * line names the missing package. With the package, the log names the limits of the package at the start.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { LIMITS } from '../../src/linux/sockets/raw-socket-backend.ts'
import { describeNetns, describeRawSocket } from '../support/require.ts'

let lab: Lab
const planOf = () => ({ host: lab.router(1), priority: 100, intervalMs: 100, address: LAB_VIP })

beforeAll(() => {
  lab = createLab({ routers: 1 })
})
afterAll(() => lab.destroy())

describeNetns('holdfast without the optional packages', () => {
  let copy = ''
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'hf-optional-'))
    for (const part of ['bin', 'dist', 'native/prebuilds', 'package.json']) {
      cpSync(join(packageRoot(), part), join(copy, part), { recursive: true })
    }
    mkdirSync(join(copy, 'node_modules'))
    symlinkSync(join(packageRoot(), 'node_modules', 'node-gyp-build'), join(copy, 'node_modules', 'node-gyp-build'))
  })
  afterAll(() => rmSync(copy, { recursive: true, force: true }))

  function start(...argv: readonly string[]): LoggedProcess {
    return new LoggedProcess(lab, lab.router(1), [join(copy, 'bin', 'holdfast'), ...argv])
  }

  async function refusal(...argv: readonly string[]) {
    const tried = start(...argv)
    const { code } = await tried.exited
    return { code, text: tried.lines.map(({ text }) => text).join('\n') }
  }

  function configured(io: string): string {
    const file = join(copy, `${io}.yaml`)
    writeFileSync(file, holdfastConfig(planOf(), copy, {}, { io }))
    return file
  }

  test('the daemon becomes Active', async () => {
    const daemon = start('run', '-c', configured('addon'))
    await daemon.line(/Backup → Active/, 10_000)
    daemon.signal('SIGTERM')
    expect(await daemon.exited).toMatchObject({ code: 0 })
  })

  test('io: raw-socket ends the daemon with exit status 78 and one line that names the missing package', async () => {
    const { code, text } = await refusal('run', '-c', configured('raw-socket'))
    expect(code, text).toBe(78)
    expect(text).toMatch(
      /^holdfast: Cannot use "io: raw-socket": the package raw-socket is not installed: npm install raw-socket [^\n]*, or set "io: addon"$/,
    )
  })

  test('holdfast capture listens', async () => {
    const capture = start('capture', '-i', 'eth0')
    await capture.line(/listening on "eth0"/, 10_000)
    capture.signal('SIGTERM')
    expect(await capture.exited).toMatchObject({ code: 0 })
  })

  test('a package that is installed but not built causes a message about the missing build', async () => {
    const lib = join(copy, 'node_modules', 'raw-socket')
    mkdirSync(lib)
    writeFileSync(join(lib, 'package.json'), JSON.stringify({ name: 'raw-socket', main: './main.js' }))
    writeFileSync(join(lib, 'main.js'), "require('./build/Release/it.node')\n")
    const run = await refusal('run', '-c', configured('raw-socket'))
    expect([run.code, run.text]).toEqual([
      78,
      expect.stringContaining('raw-socket is not built: npm rebuild raw-socket'),
    ])
    // The state is the same as after an upgrade of Node.js.
    const folder = join(lib, 'build', 'Release')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'it.node'), 'no binary')
    const again = await refusal('run', '-c', configured('raw-socket'))
    expect([again.code, again.text]).toEqual([
      78,
      expect.stringMatching(/raw-socket does not load in Node\.js .*npm rebuild raw-socket/),
    ])
  })
})

describeRawSocket('holdfast with the package raw-socket', () => {
  test('the log names the limits of raw-socket at the start', async () => {
    const daemon = new Holdfast(lab, planOf(), {}, [], { io: 'raw-socket' })
    await daemon.ready()
    await daemon.process.line(/io: raw-socket: /, 5_000)
    daemon.terminate()
    await daemon.exited
    const told = daemon.records.filter(({ msg }) => msg.startsWith('io: raw-socket: '))
    expect(told.map(({ limit }) => limit)).toEqual(LIMITS)
    expect(told.every(({ level }) => level === 40)).toBe(true)
  })
})
