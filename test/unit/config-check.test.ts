/** `holdfast check` and `holdfast schema` as functions: what they print and how they exit. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkCommand } from '../../src/cli/check.ts'
import { schemaCommand } from '../../src/cli/schema.ts'
import { address } from '../../src/wire/address.ts'

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

test('a good file', () => {
  const file = write('good.yaml', GOOD)
  expect(checkCommand(file)).toEqual({ exitCode: 0, stdout: `${file}: ok\n`, stderr: '' })
})

test('warnings are printed and do not fail', () => {
  const file = write('warned.yaml', GOOD.replace('stagger: false', 'stagger: false, advertisementInterval: 10ms'))
  const { exitCode, stdout, stderr } = checkCommand(file)
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout).toContain(`${file}:2:`)
  expect(stdout).toContain(`${file}: ok, 1 warning\n`)
})

test('every problem on one line with its place, exit 78', () => {
  const file = write('bad.yaml', GOOD.replace('vrid: 1', 'vrid: 0').replace('10.0.0.200', 'x'))
  const { exitCode, stdout, stderr } = checkCommand(file)
  expect([exitCode, stdout]).toEqual([78, ''])
  const lines = stderr.trimEnd().split('\n')
  expect(lines).toEqual([
    `${file}:2:22: Cannot use 0 as "vrid": a whole number from 1 to 255 wanted`,
    expect.stringContaining(`${file}:2:54: Cannot use "x" as virtualRouters[0].addresses[0]: an IP address wanted`),
  ])
})

test('a file that is not there, and one that is a directory: one clear line', () => {
  const missing = join(directory, 'missing.yaml')
  const line = `${missing}: Cannot read the configuration: there is no such file (ENOENT)\n`
  expect(checkCommand(missing)).toEqual({ exitCode: 78, stdout: '', stderr: line })
  expect(checkCommand(directory).stderr).toBe(
    `${directory}: Cannot read the configuration: it is a directory (EISDIR)\n`,
  )
})

test('--json says the same', () => {
  const file = write('json.yaml', GOOD.replace('vrid: 1', 'vrid: 0'))
  const { exitCode, stdout, stderr } = checkCommand(file, { json: true })
  expect([exitCode, stderr]).toEqual([78, ''])
  expect(JSON.parse(stdout)).toEqual({
    ok: false,
    problems: [
      expect.objectContaining({ file, line: 2, column: 22, path: 'virtualRouters[0].vrid', severity: 'error' }),
    ],
  })
})

test('with a node: what that node makes of the file', () => {
  const file = write('node.yaml', GOOD)
  const interfaces = [{ name: 'eth0', addresses: [{ address: address('10.0.0.200'), prefixLength: 24 }] }]
  const { exitCode, stderr } = checkCommand(file, { node: { interfaces } })
  expect(exitCode).toBe(78)
  expect(stderr).toContain('it is the own address of "eth0"')
  expect(checkCommand(file, { node: { interfaces: [] } }).stdout).toContain('Cannot find interface "eth0"')
})

test('the schema is JSON Schema that knows the keys, and refuses others', () => {
  const { exitCode, stdout } = schemaCommand()
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'holdfast configuration',
    additionalProperties: false,
    required: ['virtualRouters'],
    properties: { virtualRouters: { items: { required: ['name', 'vrid', 'interface', 'addresses'] } } },
  })
})
