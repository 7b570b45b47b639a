/** The command line as a whole: help, the path of the socket, and the answer to a misspelt word. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { main } from '../../../src/cli/program.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

async function run(...argv: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  let [stdout, stderr] = ['', '']
  type Write = typeof process.stdout.write
  const taking =
    (take: (text: string) => void): Write =>
    (text: string | Uint8Array, ...rest: unknown[]) => {
      take(String(text))
      const done = rest.at(-1)
      if (typeof done === 'function') done()
      return true
    }
  vi.spyOn(process.stderr, 'write').mockImplementation(
    taking((text) => {
      stderr += text
    }),
  )
  vi.spyOn(process.stdout, 'write').mockImplementation(
    taking((text) => {
      stdout += text
    }),
  )
  const status = await main(argv)
  return { status, stdout, stderr }
}

/** Every command has a file in src/cli/commands with its name, except those in the files of runtimecfg and agent. */
const COMMANDS = [
  ...readdirSync(join(import.meta.dirname, '..', '..', '..', 'src', 'cli', 'commands')).map((file) =>
    file.replace(/\.ts$/, ''),
  ),
  'corednsmonitor',
  'monitor',
  'operator',
  'upgrade',
]

test('holdfast --help lists each command with a description, and no other word', async () => {
  const { status, stdout, stderr } = await run('--help')
  expect([status, stderr]).toEqual([0, ''])
  const [, list = ''] = stdout.split('Commands:\n')
  const listed = [...list.matchAll(/^ {2}([a-z-]+)(?: [[<]\S+)* {2,}\S/gm)].map(([, name]) => name)
  expect(listed.sort()).toEqual([...COMMANDS, 'help'].sort())
})

test.each([...COMMANDS, 'node-ip show', 'node-ip set', 'node-ip explain', 'dynkeepalived', 'keepalived'])(
  'holdfast %s --help prints the usage, and ends with 0',
  async (command) => {
    const { status, stdout, stderr } = await run(...command.split(' '), '--help')
    // keepalived prints its help to standard error.
    const [help, other] = command === 'keepalived' ? [stderr, stdout] : [stdout, stderr]
    expect([status, other]).toEqual([0, ''])
    const name = command === 'keepalived' ? 'keepalived' : `holdfast ${command === 'dynkeepalived' ? 'agent' : command}`
    expect(help.split('\n')[0]).toMatch(new RegExp(`^Usage: ${name}(?: |$)`))
    expect(help).toMatch(/^ {2}-h, --help/m)
  },
)

test.each([
  ['status'],
  ['events', '--file', '/nowhere/events.jsonl'],
  ['explain', '--file', '/nowhere/events.jsonl'],
  ['yield', 'web'],
  ['reload'],
  ['stop'],
])('HOLDFAST_SOCKET names the socket of "%s", and --socket goes before it', async (...argv) => {
  vi.stubEnv('HOLDFAST_SOCKET', '/nowhere/of-the-environment.sock')
  const byEnvironment = await run(...argv)
  expect([byEnvironment.status, byEnvironment.stderr]).toEqual([69, expect.stringContaining('of-the-environment.sock')])
  const byOption = await run(...argv, '--socket', '/nowhere/of-the-option.sock')
  expect([byOption.status, byOption.stderr]).toEqual([69, expect.stringContaining('of-the-option.sock')])
})

test.each(['top', 'sto', 'stopp', 'relaod', 'yeild', 'rum', 'configur'])(
  'no command that changes something is suggested for "%s"',
  async (word) => {
    const { status, stderr } = await run(word)
    expect(status).toBe(64)
    expect(stderr).toContain(`unknown command '${word}'`)
    expect(stderr).not.toMatch(/did you mean/i)
  },
)

test.each([
  ['statsu', 'status'],
  ['evnets', 'events'],
  ['chekc', 'check'],
])('"%s" has "%s" suggested', async (word, meant) => {
  expect(await run(word)).toMatchObject({ status: 64, stderr: expect.stringContaining(`(Did you mean ${meant}?)`) })
})

test('a misspelt option gets the nearest option as a suggestion', async () => {
  expect((await run('status', '--jso')).stderr).toContain('(Did you mean --json?)')
})

test.each(['', 'web --all', 'web --for 60', 'web --cancel --for 5s'])('"yield %s" is a usage error', async (words) => {
  expect((await run('yield', ...words.split(' ').filter((word) => word !== ''))).status).toBe(64)
})
