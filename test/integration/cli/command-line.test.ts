/** The command line as a whole: where the socket is taken from, and what a word with a mistake is answered. */
import { afterEach, expect, test, vi } from 'vitest'
import { main } from '../../../src/cli/program.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

async function run(...argv: string[]): Promise<{ status: number; stderr: string }> {
  let stderr = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text)
    return true
  })
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  return { status: await main(argv), stderr }
}

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

test('an option with a mistake still has the nearest one suggested', async () => {
  expect((await run('status', '--jso')).stderr).toContain('(Did you mean --json?)')
})

test.each(['', 'web --all', 'web --for 60', 'web --cancel --for 5s'])('"yield %s" is a usage error', async (words) => {
  expect((await run('yield', ...words.split(' ').filter((word) => word !== ''))).status).toBe(64)
})
