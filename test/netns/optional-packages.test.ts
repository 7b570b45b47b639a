/**
 * An installation as `npm install --ignore-scripts` leaves it, or `--omit=optional`: holdfast runs, and what needs raw-socket or cap says
 * in one line what is missing and how to get it. With the package, the operator is told at start what it cannot tell.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/cli/demo-probe.ts'
import { LIMITS } from '../../src/linux/raw-socket-backend.ts'
import { Holdfast, holdfastConfig } from '../support/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../support/lab.ts'
import { LoggedProcess } from '../support/logged-process.ts'
import { describeNetns, describeRawSocket } from '../support/require.ts'

const PACKAGES = ['raw-socket', 'cap'] as const

let lab: Lab
const planOf = () => ({ host: lab.router(1), priority: 100, intervalMs: 100, address: LAB_VIP })

beforeAll(() => {
  lab = createLab({ routers: 1 })
})
afterAll(() => lab.destroy())

describeNetns('without the optional packages', () => {
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

  test('it runs', async () => {
    const daemon = start('run', '-c', configured('addon'))
    await daemon.line(/Backup → Active/, 10_000)
    daemon.signal('SIGTERM')
    expect(await daemon.exited).toMatchObject({ code: 0 })
  })

  test('io: raw-socket: one line, exit 78', async () => {
    const { code, text } = await refusal('run', '-c', configured('raw-socket'))
    expect(code, text).toBe(78)
    expect(text).toMatch(
      /^holdfast: Cannot use "io: raw-socket": the package raw-socket is not installed: npm install raw-socket [^\n]*, or set "io: addon"$/,
    )
  })

  test('capture: one line, exit 1', async () => {
    const { code, text } = await refusal('capture', '-i', 'eth0')
    expect(code, text).toBe(1)
    expect(text).toMatch(
      /^holdfast: Cannot capture on "eth0": the package cap is not installed: npm install cap [^\n]*libpcap[^\n]*$/,
    )
  })

  test('installed and not built is another errand', async () => {
    for (const name of PACKAGES) {
      const lib = join(copy, 'node_modules', name)
      mkdirSync(lib)
      writeFileSync(join(lib, 'package.json'), JSON.stringify({ name, main: './main.js' }))
      writeFileSync(join(lib, 'main.js'), "require('./build/Release/it.node')\n")
    }
    const run = await refusal('run', '-c', configured('raw-socket'))
    expect([run.code, run.text]).toEqual([
      78,
      expect.stringContaining('raw-socket is not built: npm rebuild raw-socket'),
    ])
    const capture = await refusal('capture', '-i', 'eth0')
    expect([capture.code, capture.text]).toEqual([1, expect.stringContaining('cap is not built: npm rebuild cap')])
    // As after an upgrade of Node.js, or without libpcap's library.
    for (const name of PACKAGES) {
      const folder = join(copy, 'node_modules', name, 'build', 'Release')
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'it.node'), 'no binary')
    }
    const again = await refusal('capture', '-i', 'eth0')
    expect([again.code, again.text]).toEqual([
      1,
      expect.stringMatching(/cap does not load in Node\.js .*npm rebuild cap/),
    ])
  })
})

describeRawSocket('with raw-socket', () => {
  test('what it cannot guarantee is in the log at start', async () => {
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
