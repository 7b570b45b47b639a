/**
 * Programs of health checks and notifications, judged on the disk of this machine. `holdfast check` and a reload refuse, leave out or
 * report such programs. A disk that answers late costs a real wait.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkCommand } from '../../../src/cli/check.ts'
import { formatProblem, isError } from '../../../src/config/problem.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { loadAny } from '../../../src/files/configuration-language.ts'
import { freshConfig } from '../../../src/files/fresh-configuration.ts'
import { scriptProblems } from '../../../src/files/script-problem.ts'

let directory = ''
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-script-'))
  // Without this mode, the folder is not a safe place for a program.
  chmodSync(directory, 0o755)
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

const GOOD = 'virtualRouters:\n  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false }\n'
const QUICK = 'interval: 100ms, timeout: 100ms'
const router = (keys: string, checks: readonly string[]) =>
  `healthchecks:\n${checks.map((each) => `  - { ${each} }\n`).join('')}virtualRouters:\n` +
  `  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false, ${keys} }\n`

/** Returns the problems of the programs in `notify:` of a router and of its group. */
async function notifyProblems(ofRouter: string, ofGroup: string): Promise<readonly string[]> {
  const head = 'virtualRouters:\n  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.1]'
  const groups = `syncGroups:\n  - { name: g, members: [a], notify: ${ofGroup} }\n`
  const parsed = parseConfig(`${head}, notify: ${ofRouter} }\n${groups}`)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  return (await scriptProblems(parsed.config, parsed.locate)).map(formatProblem)
}

test('a check script that others can write is refused, and a missing script is accepted', async () => {
  const script = write('check.sh', '#!/bin/sh\n')
  const file = write('exec.yaml', router('track: [{ healthcheck: s }]', [`name: s, exec: [${script}, -x], ${QUICK}`]))
  chmodSync(script, 0o755)
  expect((await checkCommand(file)).exitCode).toBe(0)
  chmodSync(script, 0o777)
  expect(await checkCommand(file)).toEqual({
    exitCode: 78,
    stdout: '',
    stderr: `${file}:2:23: Refused to run ${script}: ${script} is writable for all users, for "s"\n`,
  })
  chmodSync(script, 0o644)
  expect((await checkCommand(file)).stdout).toContain(`${file}:2:23: warning: Cannot run ${script}: EACCES, for "s"\n`)
  rmSync(script)
  const { exitCode, stdout } = await checkCommand(file)
  expect(exitCode).toBe(0)
  expect(stdout).toContain(`${file}:2:23: warning: Cannot run ${script}: ENOENT, for "s"\n`)
  const user = router('track: [{ healthcheck: s }]', [`name: s, exec: [/bin/true], user: hf-nobody-here, ${QUICK}`])
  expect((await checkCommand(write('user.yaml', user))).stdout).toContain(
    ':2:41: warning: check "s" cannot run: there is no user "hf-nobody-here" here\n',
  )
})

test('a reload with a script that others can write is refused as well, with its place', async () => {
  const script = write('reload.sh', '#!/bin/sh\n')
  chmodSync(script, 0o755)
  const checks = `healthchecks:\n  - { name: s, exec: [${script}] }\n`
  const file = write(
    'reload.yaml',
    `${checks}${GOOD.replace('stagger: false', 'stagger: false, track: [{ healthcheck: s }]')}`,
  )
  const parsed = loadAny(file, undefined)
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  const order = { file, node: { interfaces: [] }, inForce: parsed.config }
  expect(await freshConfig(order)).toMatchObject({ ok: true, diff: { checksChanged: [], unchanged: ['a'] } })
  chmodSync(script, 0o757)
  const refused = await freshConfig(order)
  expect(refused.ok).toBe(false)
  expect('problems' in refused && refused.problems.filter(isError)).toEqual([
    expect.objectContaining({
      line: 2,
      column: 23,
      path: 'healthchecks[0].exec[0]',
      message: expect.stringContaining('Refused to run'),
    }),
  ])
})

test('a reload of a keepalived file leaves a script out while others can write it, and uses it afterwards', async () => {
  const script = write('open.sh', '#!/bin/sh\n')
  const file = write(
    'open.conf',
    `global_defs {\nenable_script_security\n}\nvrrp_script s {\nscript ${script}\nweight 9\n}\nvrrp_instance A {\ninterface eth0\n` +
      'virtual_router_id 1\nvirtual_ipaddress {\n10.0.0.6\n}\ntrack_script {\ns\n}\n}\n',
  )
  const keepalived = { configId: undefined, allFiles: false }
  const parsed = loadAny(file, keepalived)
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  const reload = async (mode: number, inForce = parsed.config) => {
    chmodSync(script, mode)
    const fresh = await freshConfig({ file, keepalived, node: { interfaces: [] }, inForce })
    if ('config' in fresh) return fresh
    throw new Error(JSON.stringify(fresh))
  }
  const without = await reload(0o777)
  expect(without).toMatchObject({
    config: { healthchecks: [], virtualRouters: [{ name: 'A', track: [] }] },
    warnings: expect.arrayContaining([
      expect.objectContaining({ line: 5, column: 8, message: expect.stringContaining(`Skipped ${script}: `) }),
    ]),
  })
  expect(await reload(0o755, without.config)).toMatchObject({
    config: parsed.config,
    diff: { checksChanged: ['s'] },
  })
})

test('capabilities for a user without capabilities cause a warning with its place, and for root they do not', async () => {
  const told = (notify: string) =>
    notifyProblems(`{ active: [/bin/true], capabilities: keep${notify} }`, '{ active: [/bin/true] }')
  expect(await told('')).toEqual([])
  expect(await told(', user: 0')).toEqual([])
  expect(await told(`, user: ${process.geteuid?.() ?? 0}`)).toEqual([])
  expect(await told(', user: 64999')).toEqual([
    '2:110: warning: /bin/true gets no capabilities, for notifications of "a", unless "64999" is the user of the daemon',
  ])
})

test('a notification program that others can write is refused with its place, and a missing program is accepted', async () => {
  const script = write('told', '#!/bin/sh\n')
  const told = () =>
    notifyProblems(`{ active: [/bin/true], change: [${script}] }`, '{ active: [/bin/true], user: hf-nobody-here }')
  const missing =
    '4:67: warning: Cannot run /bin/true, for notifications of "g": there is no user "hf-nobody-here" here'
  chmodSync(script, 0o755)
  expect(await told()).toEqual([missing])
  chmodSync(script, 0o777)
  expect(await told()).toEqual([
    `2:105: Refused to run ${script}: ${script} is writable for all users, for notifications of "a"`,
    missing,
  ])
  rmSync(script)
  expect(await told()).toEqual([`2:105: warning: Cannot run ${script}: ENOENT, for notifications of "a"`, missing])
})
