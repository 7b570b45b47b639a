/**
 * The handling of each of keepalived's flags in bin/holdfast, compared with the engine (src/keepalived/flags.ts). A
 * command line that only asks for information needs no guardian. A command line that starts a daemon gives the guardian
 * --background and --core. Programs in the place of Node and of the guardian print their arguments.
 */
import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FLAGS, keepalivedOrder } from '../../../src/keepalived/flags.ts'

let home = ''
let launcher = ''

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-launcher-'))
  const prebuilds = join(home, 'native', 'prebuilds', `linux-${process.arch}`)
  for (const folder of [join(home, 'bin'), join(home, 'dist', 'bundle'), prebuilds])
    mkdirSync(folder, { recursive: true })
  launcher = join(home, 'bin', 'holdfast')
  copyFileSync(join(import.meta.dirname, '..', '..', '..', 'bin', 'holdfast'), launcher)
  writeFileSync(join(home, 'dist', 'bundle', 'main.js'), '')
  for (const [path, name] of [
    [join(prebuilds, 'holdfast-guardian'), 'guardian'],
    [join(home, 'node'), 'node'],
  ] as const) {
    writeFileSync(path, `#!/bin/sh\necho ${name}\nprintf '%s\\n' "$@"\n`)
    chmodSync(path, 0o755)
  }
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Returns the program that the launcher becomes, and the options of the guardian. */
async function launched(argv: readonly string[]) {
  const env = { ...process.env, HOLDFAST_NODE: join(home, 'node') }
  const { stdout } = await promisify(execFile)(launcher, argv, { encoding: 'utf8', env })
  const [name = '', ...rest] = stdout.split('\n')
  return { process: name, options: name === 'guardian' ? rest.slice(0, rest.indexOf('--')) : [] }
}

/** Every spelling of a flag, each before and after arguments that have an effect themselves. */
const COMMAND_LINES = FLAGS.flatMap(({ short, long, value }) => {
  const spellings: (readonly string[])[] = [
    value === 'wanted' ? [`--${long}`, '-n'] : [`--${long}`],
    value === undefined ? [`--${long}`] : [`--${long}=-m`],
  ]
  if (short !== undefined) {
    spellings.push(value === 'wanted' ? [`-${short}`, '--dont-fork'] : [`-${short}`], [`-D${short}`, '--core-dump'])
    spellings.push(value === undefined ? [`-${short}m`] : [`-${short}nm`], [`-n${short}`, '/x'])
  }
  return spellings.flatMap((spelling) => [spelling, ['-n', ...spelling], [...spelling, '-m'], [...spelling, '-t']])
})

test('a flag has the same effect in bin/holdfast and in the engine, in every spelling', {
  timeout: 180_000,
}, async () => {
  const seen = { run: 0, answer: 0 }
  for (const argv of COMMAND_LINES) {
    const order = keepalivedOrder(argv)
    // The engine ends with a message about these flags, whichever process starts the engine.
    if (order.do === 'refuse') continue
    const expected = order.do === 'run' ? ['guardian', order.core, order.background] : ['node', false, false]
    const { process, options } = await launched(['keepalived', ...argv])
    expect([process, options.includes('--core'), options.includes('--background')], argv.join(' ')).toEqual(expected)
    seen[order.do === 'run' ? 'run' : 'answer']++
  }
  expect(seen.run).toBeGreaterThan(200)
  expect(seen.answer).toBeGreaterThan(100)
})

test.each([
  [['run', '--run-directory', '--core', '-c', '--realtime'], []],
  [['run', '--listen', '--realtime', '--core'], ['--core']],
  [['run', '--metrics-compat', '--core', '--realtime=7'], ['--realtime=7']],
  [
    ['run', '--realtime', '30', '--core', '--record', '--realtime'],
    ['--realtime=30', '--core'],
  ],
  [['run', '-f', '-n', '--core'], ['--core']],
])('%j: the guardian has the options %j', async (argv, options) => {
  expect(await launched(argv)).toEqual({ process: 'guardian', options })
})
