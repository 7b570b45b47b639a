/** `holdfast check` and `holdfast schema` as functions: what they print and how they exit. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkCommand, checkFiles } from '../../../src/cli/check.ts'
import { schemaCommand } from '../../../src/cli/schema.ts'
import { address } from '../../../src/wire/address.ts'

let directory = ''
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-check-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

const GOOD = 'virtualRouters:\n  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false }\n'

test('check accepts a valid file with exit status 0', async () => {
  const file = write('good.yaml', GOOD)
  expect(await checkCommand(file)).toEqual({ exitCode: 0, stdout: `${file}: ok\n`, stderr: '' })
})

test('check prints warnings and exits with 0', async () => {
  const file = write('warned.yaml', GOOD.replace('stagger: false', 'stagger: false, advertisementInterval: 10ms'))
  const { exitCode, stdout, stderr } = await checkCommand(file)
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout).toContain(`${file}:2:`)
  expect(stdout).toContain(`${file}: ok, 1 warning\n`)
})

test('check --strict fails for a warning, and not for a note', async () => {
  const noted = write('noted.yaml', GOOD.replace(', stagger: false', ''))
  const note = `${noted}:2:5: note: no "peers" listed for "a"; this matters only if two nodes have the same priority`
  expect(await checkCommand(noted, { strict: true })).toEqual({
    exitCode: 0,
    stdout: `${noted}: ok\n${note}\n`,
    stderr: '',
  })
  const warned = write('strict.yaml', GOOD.replace('stagger: false', 'stagger: false, advertisementInterval: 10ms'))
  const { exitCode, stdout, stderr } = await checkCommand(warned, { strict: true })
  expect([exitCode, stdout]).toEqual([78, ''])
  expect(stderr).toMatch(/^.*strict.yaml:2:.*: warning: An interval of 10ms .*\n.*: 1 warning; --strict allows none\n$/)
  const json = await checkCommand(warned, { strict: true, json: true })
  expect([json.exitCode, JSON.parse(json.stdout).ok]).toEqual([78, false])
})

test('check judges each of several files, and one that fails gives exit status 78', async () => {
  const [good, bad] = [write('one.yaml', GOOD), write('two.yaml', GOOD.replace('vrid: 1', 'vrid: 0'))]
  const both = await checkFiles([bad, good], {})
  expect([both.exitCode, both.stdout]).toEqual([78, `${good}: ok\n`])
  expect(both.stderr).toContain(`${bad}:2:22: `)
  const listed = await checkFiles([good, bad], { json: true })
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { file: good, ok: true },
    { file: bad, ok: false },
  ])
  expect((await checkFiles([good, good], {})).exitCode).toBe(0)
})

test("check reads standard input for -, in YAML and in keepalived's language", async () => {
  const run = (text: string) => checkCommand('-', { stdin: () => text })
  expect(await run(GOOD)).toMatchObject({ exitCode: 0, stdout: 'standard input: ok\n' })
  const keepalived = 'vrrp_instance A {\n  interface eth0\n  virtual_router_id 1\n  virtual_ipaddress { 10.0.0.9 }\n}\n'
  expect((await run(keepalived)).stdout).toContain('standard input: ok')
  const wrong = await run(GOOD.replace('vrid: 1', 'vrid: 0'))
  expect(wrong).toMatchObject({ exitCode: 78, stderr: expect.stringMatching(/^standard input:2:22: /) })
})

test('check with a node suggests a name for a missing interface, and fails with --strict', async () => {
  const file = write('typo.yaml', GOOD.replace('eth0', 'eht0'))
  const node = {
    interfaces: [
      { name: 'lo', addresses: [] },
      { name: 'eth0', addresses: [] },
    ],
  }
  const message = 'Cannot find interface "eht0" for "a" (did you mean "eth0"?): the router is in fault until it appears'
  expect(await checkCommand(file, { node })).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(message) })
  expect(await checkCommand(file, { node, strict: true })).toMatchObject({
    exitCode: 78,
    stderr: expect.stringContaining(message),
  })
})

describe('shipped examples have no warnings', () => {
  const root = join(import.meta.dirname, '../../..')
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
  const configurations = blocks.filter((text) => text.includes('virtualRouters:'))
  const pods = readdirSync(join(root, 'deploy/static-pod')).filter((name) => name.endsWith('.yaml'))
  const shipped = ['systemd/holdfast.yaml.example', ...pods.map((name) => `static-pod/${name}`)]
    .map((name) => [name, readFileSync(join(root, 'deploy', name), 'utf8')] as const)
    .filter(([, text]) => text.includes('virtualRouters:'))
  // Removes the comment signs, so that the parts of the example that are comments are checked, too.
  const used = (text: string) =>
    text
      .replace(/^# (healthchecks:)/gm, '$1')
      .replace(/^# {3}/gm, '    ')
      .replace(/^( +)# (\w+: [[{])/gm, '$1$2')

  test('README.md has one example, and two are shipped', () =>
    expect([configurations.length, shipped.length]).toEqual([1, 2]))

  test.each([...configurations.map((text) => ['README.md', text] as const), ...shipped])('%s', async (_, text) => {
    const written = await checkCommand(write('example.yaml', text))
    expect(written).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.not.stringContaining('warning') })
    expect(await checkCommand(write('used.yaml', used(text)), { strict: true })).toMatchObject({
      exitCode: 0,
      stderr: '',
    })
  })
})

test('check prints every problem on a line with its position, and exits with 78', async () => {
  const file = write('bad.yaml', GOOD.replace('vrid: 1', 'vrid: 0').replace('10.0.0.200', 'x'))
  const { exitCode, stdout, stderr } = await checkCommand(file)
  expect([exitCode, stdout]).toEqual([78, ''])
  const lines = stderr.trimEnd().split('\n')
  expect(lines).toEqual([
    `${file}:2:22: virtualRouters[0].vrid: cannot use 0, expected an integer from 1 to 255`,
    expect.stringContaining(`${file}:2:54: virtualRouters[0].addresses[0]: cannot use "x", expected an IP address`),
  ])
})

test('check prints one line for a missing file and for a directory', async () => {
  const missing = join(directory, 'missing.yaml')
  const line = `${missing}: Cannot read the configuration: there is no such file (ENOENT)\n`
  expect(await checkCommand(missing)).toEqual({ exitCode: 78, stdout: '', stderr: line })
  expect((await checkCommand(directory)).stderr).toBe(
    `${directory}: Cannot read the configuration: it is a directory (EISDIR)\n`,
  )
})

test('check --json has the same problems as the text', async () => {
  const file = write('json.yaml', GOOD.replace('vrid: 1', 'vrid: 0'))
  const { exitCode, stdout, stderr } = await checkCommand(file, { json: true })
  expect([exitCode, stderr]).toEqual([78, ''])
  expect(JSON.parse(stdout)).toEqual({
    file,
    ok: false,
    effectivePriorities: [],
    notes: [],
    problems: [
      expect.objectContaining({ file, line: 2, column: 22, path: 'virtualRouters[0].vrid', severity: 'error' }),
    ],
  })
})

test('check with a node prints the problems of this node', async () => {
  const file = write('node.yaml', GOOD)
  const interfaces = [{ name: 'eth0', addresses: [{ address: address('10.0.0.200'), prefixLength: 24 }] }]
  const { exitCode, stderr } = await checkCommand(file, { node: { interfaces } })
  expect(exitCode).toBe(78)
  expect(stderr).toContain('which is the own address of "eth0"')
  expect((await checkCommand(file, { node: { interfaces: [] } })).stdout).toContain('Cannot find interface "eth0"')
})

describe('health checks', () => {
  const router = (keys: string, checks: readonly string[]) =>
    `healthchecks:\n${checks.map((each) => `  - { ${each} }\n`).join('')}virtualRouters:\n` +
    `  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false, ${keys} }\n`
  const QUICK = 'interval: 100ms, timeout: 100ms'

  test('check prints the effective priority of each combination of results', async () => {
    const checks = [`name: web, tcp: "127.0.0.1:80", ${QUICK}`, `name: disk, file: /x, ${QUICK}`]
    const keys =
      'priority: 40, track: [{ healthcheck: web, weight: 50 }, { interface: eth1, weight: -20 }, { healthcheck: disk }]'
    const file = write('table.yaml', router(keys, checks))
    const { exitCode, stdout } = await checkCommand(file)
    expect([exitCode, stdout]).toEqual([
      0,
      `${file}: ok
a: effective priority for each result of its checks (base priority 40)
  web   eth1  disk
  up    up    up    90
  up    down  up    70
  down  up    up    40
  down  down  up    20
  up    up    down  FAULT
  up    down  down  FAULT
  down  up    down  FAULT
  down  down  down  FAULT
${file}:5:104: note: cannot tell whether weight 50 of web and weight -20 of eth1 are enough: no peer priorities are listed
`,
    ])
    const json = JSON.parse((await checkCommand(file, { json: true })).stdout)
    expect(json.effectivePriorities).toEqual([
      expect.objectContaining({
        router: 'a',
        base: 40,
        columns: ['web', 'eth1', 'disk'],
        independent: 3,
        complete: true,
      }),
    ])
    expect(json.effectivePriorities[0].rows[3]).toEqual({ up: [false, false, true], priority: 20, fault: false })
  })

  test('check says that the number in a file comes on top, and what a preset cannot check', async () => {
    const checks = [`name: w, file: /x, content: weight, ${QUICK}`]
    const keys =
      'priority: 40, preset: openshift-api, advertisementInterval: 100ms, track: [{ healthcheck: w, weight: 2 }]'
    const { stdout } = await checkCommand(write('preset.yaml', router(keys, checks)))
    expect(stdout).toContain('  plus the number in the file of "w", times 2\n')
    expect(stdout).toContain('  openshift-lb  openshift-both  openshift-mcs\n')
    expect(stdout).toContain(
      'preset openshift-api: HTTP cannot tell whether the machine-config-server runs. Check "openshift-mcs" is up while the file /run/holdfast/agent/machine-config-server exists.',
    )
  })

  test('check says whether the number in a file with weight 0 is a fault', async () => {
    const checks = [`name: w, file: /x, content: weight, ${QUICK}`, `name: r, file: /y, content: weight, ${QUICK}`]
    const { stdout } = await checkCommand(
      write('files.yaml', router('track: [{ healthcheck: w }, { healthcheck: r, reverse: true }]', checks)),
    )
    expect(stdout).toContain('  FAULT while the file of "w" contains anything but 0\n')
    expect(stdout).toContain('  FAULT while the file of "r" contains 0, or is empty or missing\n')
    expect(stdout).not.toContain('times 0')
  })

  test('check shows a part of the table, and says so, for more than 8 independent results', async () => {
    const names = Array.from({ length: 9 }, (_, i) => `c${i}`)
    const track = names.map((name) => `{ healthcheck: ${name}, weight: 5 }`).join(', ')
    const { stdout } = await checkCommand(
      write(
        'many.yaml',
        router(
          `track: [${track}]`,
          names.map((name) => `name: ${name}, file: /x, ${QUICK}`),
        ),
      ),
    )
    expect(stdout.split('\n').filter((line) => /^ {2}(up|down)/.test(line))).toHaveLength(11)
    expect(stdout).toContain('  9 results are independent, and at most 8 are shown in full')
  })
})

test('the JSON Schema accepts known keys and refuses others', () => {
  const { exitCode, stdout } = schemaCommand('config')
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'holdfast configuration',
    additionalProperties: false,
    required: ['virtualRouters'],
    properties: { virtualRouters: { items: { required: ['name', 'vrid', 'interface', 'addresses'] } } },
  })
})
