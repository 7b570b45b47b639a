/** `keepalived -t`: the exit statuses of 2.2.7 for the same files, with holdfast's messages. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkCommand } from '../../../src/cli/check.ts'
import { apiOverride } from '../../../src/config/api-options.ts'
import { loadAny, looksLikeKeepalived } from '../../../src/files/configuration-language.ts'
import { freshConfig } from '../../../src/files/fresh-configuration.ts'
import { keepalivedTest } from '../../../src/keepalived/config-test.ts'

const READING = { configId: undefined, allFiles: false }
const AS_ROOT = process.geteuid?.() === 0 && spawnSync('keepalived', ['--version']).status === 0
const INTERFACE = 'eth7'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-ktest-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const instance = (more = '') =>
  `vrrp_instance A {\n interface ${INTERFACE}\n virtual_router_id 51\n priority 100\n${more} virtual_ipaddress {\n 10.0.0.100\n }\n}\n`
const script = (program: string) => `vrrp_script c {\n script "${program}"\n}\n`
const SECURE = 'global_defs {\n script_user root\n enable_script_security\n}\n'
const TRACK = ' track_script {\n  c\n }\n'

/** Keepalived file, expected exit status, and a part of the expected output. */
const FILES = [
  ['plain', instance(), 0, ''],
  ['empty', '', 0, ''],
  ['no instance', 'global_defs {\n router_id x\n}\n', 0, ''],
  ['a long password', instance(' authentication {\n auth_type PASS\n auth_pass 123456789\n }\n'), 5, 'first 8 octets'],
  ['an unknown keyword', instance(' nonsense 5\n'), 5, 'nonsense'],
  ['an unclosed block', 'vrrp_instance A {\n interface eth7\n', 5, 'not closed'],
  ['a VRID out of range', instance().replace('51', '351'), 5, 'keepalived.conf:3'],
  ['two of a name', instance() + instance(), 5, 'used already'],
  ['a safe script', SECURE + script('/usr/bin/true') + instance(TRACK), 0, ''],
  ['a script without security', script('/usr/bin/true') + instance(TRACK), 6, 'enable_script_security'],
  ['a script that is not there', `${SECURE}${script('/nonexistent')}${instance(TRACK)}`, 5, '/nonexistent'],
] as const

describe('-t', () => {
  test.each(FILES)('%s', async (_, text, status, words) => {
    const file = join(folder, 'keepalived.conf')
    writeFileSync(file, text)
    const { lines, exitCode } = await keepalivedTest(file, READING)
    expect(exitCode, lines.join('\n')).toBe(status)
    expect(lines.join('\n')).toContain(words)
  })

  test.skipIf(!AS_ROOT)('keepalived itself gives these statuses', () => {
    for (const [i, [, text]] of FILES.entries()) writeFileSync(join(folder, `${i}.conf`), text)
    const run = FILES.map((_, i) => `keepalived -t -f ${folder}/${i}.conf >/dev/null 2>&1; echo $?`).join('; ')
    const wiring = `ip link add ${INTERFACE} type veth peer name other; ip link set other up; ip link set ${INTERFACE} up`
    const { stdout } = spawnSync('unshare', ['-n', 'sh', '-c', `${wiring}; ${run}`], { encoding: 'utf8' })
    const seen = stdout.trim().split('\n').map(Number)
    expect(FILES.map(([name], i) => [name, seen[i]])).toEqual(FILES.map(([name, , status]) => [name, status]))
  })

  test('a missing file is no problem for -t, unless all files are required', async () => {
    const file = join(folder, 'none.conf')
    expect(await keepalivedTest(file, READING)).toMatchObject({ exitCode: 0, lines: [expect.stringContaining(file)] })
    expect(await keepalivedTest(file, { ...READING, allFiles: true })).toMatchObject({ exitCode: 4 })
  })

  test.each([
    ['run, which is a violation', '', 6],
    ['left out, which is a warning', SECURE, 5],
  ])('-t reports a script that others can change as %s, as keepalived does', async (_, security, status) => {
    const program = join(folder, 'check')
    writeFileSync(program, '#!/bin/sh\n')
    chmodSync(program, 0o777)
    const file = join(folder, 'keepalived.conf')
    writeFileSync(file, security + script(program) + instance(TRACK))
    expect(await keepalivedTest(file, READING)).toMatchObject({
      exitCode: status,
      lines: expect.arrayContaining([expect.stringContaining(program)]),
    })
    if (!AS_ROOT) return
    const wiring = `ip link add ${INTERFACE} type veth peer name other`
    const argv = ['-n', 'sh', '-c', `${wiring}; exec keepalived -t -f ${file}`]
    expect(spawnSync('unshare', argv).status, 'of keepalived').toBe(status)
  })

  test('advice that only holdfast gives does not fail -t', async () => {
    const file = join(folder, 'keepalived.conf')
    const peers = Array.from({ length: 6 }, (_, i) => `  10.0.0.${i + 1}\n`).join('')
    writeFileSync(file, instance(` unicast_peer {\n${peers} }\n`))
    const { lines, exitCode } = await keepalivedTest(file, READING)
    expect([exitCode, lines.join()]).toEqual([0, expect.stringContaining('may move twice')])
  })
})

describe('the language of a file', () => {
  test.each([
    [instance(), true],
    ['! a comment\nglobal_defs\n{\n}\n', true],
    [`  ${script('x')}`, true],
    ['virtualRouters:\n  - { name: vrrp_instance, vrid: 1 }\n', false],
    ['vrrp_instance: {}\n', false],
    ['# vrrp_instance A {\n', false],
    ['', false],
  ])('%j', (text, wanted) => {
    expect(looksLikeKeepalived(text)).toBe(wanted)
  })

  test("check reads both languages, and reports keepalived's language if YAML is required", async () => {
    const file = join(folder, 'keepalived.conf')
    writeFileSync(file, instance())
    expect(await checkCommand(file)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`${file}: ok`) })
    const yaml = loadAny(file, undefined)
    expect('problems' in yaml && yaml.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('holdfast run -f'),
    ])
    writeFileSync(file, 'include other.conf\n')
    expect((await checkCommand(file)).exitCode).toBe(78)
    writeFileSync(join(folder, 'other.conf'), instance())
    expect(await checkCommand(file, { keepalived: true })).toMatchObject({ exitCode: 0 })
  })

  test('options of the command line for the API are in force, and are no change at a reload', async () => {
    const file = join(folder, 'keepalived.conf')
    writeFileSync(file, instance())
    const listen = { host: '10.0.0.11', port: 9_655 }
    const api = apiOverride({ listen: '10.0.0.11:9655', public: true, metricsCompat: 'keepalived-exporter' })
    if (typeof api === 'string') throw new Error(api)
    const keepalived = { ...READING, api }
    const loaded = loadAny(file, keepalived)
    if ('problems' in loaded) throw new Error('expected a configuration')
    expect(loaded.config.api).toMatchObject({ listen, metricsCompat: 'keepalived-exporter', public: true, peers: [] })
    const again = await freshConfig({ file, keepalived, node: { interfaces: [] }, inForce: loaded.config })
    expect(again).toMatchObject({ ok: true, diff: { restartOnly: [] } })
  })

  test('a missing file means an idle daemon at the start, and an error at a reload', async () => {
    const file = join(folder, 'none.conf')
    const idle = loadAny(file, READING)
    if ('problems' in idle) throw new Error('expected a configuration')
    expect([idle.missing, idle.config.virtualRouters]).toEqual([true, []])
    const order = { file, keepalived: READING, node: { interfaces: [] }, inForce: idle.config }
    expect(await freshConfig(order)).toMatchObject({ ok: false, problems: [{ file, severity: 'error' }] })
    writeFileSync(file, '')
    expect(await freshConfig(order)).toMatchObject({ ok: true, diff: { added: [] }, imported: { unknown: 0 } })
    writeFileSync(file, instance(' nonsense 1\n'))
    expect(await freshConfig(order)).toMatchObject({ ok: true, diff: { added: ['A'] }, imported: { unknown: 1 } })
  })
})
