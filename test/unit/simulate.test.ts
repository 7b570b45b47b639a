/**
 * `holdfast simulate`: the page's own example gives what the page shows, the warnings appear where they should and only
 * there, and what is wrong with a scenario is said with its place.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { simulateCommand } from '../../src/cli/simulate.ts'

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'simulate.md')
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-simulate-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

type Wanted = { readonly priority: number; readonly weight?: number; readonly more?: string }
const configuration = ({ more = '', priority, weight }: Wanted): string => `version: 1
${weight === undefined ? '' : 'healthchecks: [{ name: api, tcp: "127.0.0.1:6443" }]'}
virtualRouters:
  - name: api
    vrid: 51
    interface: eth0
    addresses: [10.0.0.100]
    priority: ${priority}
    stagger: false
    advertisementInterval: 1s
    ${weight === undefined ? '' : `track: [{ healthcheck: api, weight: ${weight} }]`}
    ${more}
`
/** Nodes n1, n2, …, each with a file of its own. */
function scenario(nodes: readonly Wanted[], faults: readonly string[] = []): string {
  const entries = nodes.map((node, i) => {
    file(`n${i + 1}.yaml`, configuration(node))
    return `  - { name: n${i + 1}, address: 10.0.0.${i + 1}/24, configuration: n${i + 1}.yaml }`
  })
  const listed = faults.length === 0 ? '' : `faults:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`
  return file('scenario.yaml', `version: 1\nnodes:\n${entries.join('\n')}\n${listed}\n`)
}
const json = (path: string) => JSON.parse(simulateCommand(path, { json: true }).stdout)

test('the example of the page, to the letter', () => {
  const page = readFileSync(PAGE, 'utf8')
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(page) ?? []
  const [, shown] = /```console\n\$ holdfast simulate scenario.yaml\n(.*?)```/s.exec(page) ?? []
  expect(simulateCommand(file('page.yaml', yaml))).toEqual({ exitCode: 0, stdout: shown, stderr: '' })
})

describe('weights', () => {
  test('one that is too small is named for the node that it belongs to', () => {
    const { warnings } = json(
      scenario([
        { priority: 150, weight: -20 },
        { priority: 100, weight: -20 },
      ]),
    )
    expect(warnings).toEqual(['10.0.0.100 stays on n1 when "api" fails: n1 goes on with priority 130, n2 has 100'])
  })
  test('one that is large enough is not', () => {
    expect(
      json(
        scenario([
          { priority: 150, weight: -60 },
          { priority: 100, weight: -60 },
        ]),
      ).warnings,
    ).toEqual([])
  })
  test('a better node that must not preempt', () => {
    const more = 'preempt: false'
    const { warnings } = json(
      scenario([
        { priority: 150, weight: -60, more },
        { priority: 100, weight: -60, more },
      ]),
    )
    expect(warnings).toEqual([expect.stringContaining('n1 goes on with priority 90, n2 has 100')])
  })
  test('the second in line is asked as well', () => {
    const nodes = [
      { priority: 200, weight: -190 },
      { priority: 150, weight: -20 },
      { priority: 100, weight: -90 },
    ]
    expect(json(scenario(nodes)).warnings).toEqual([expect.stringContaining('stays on n2 when "api" fails')])
  })
})

test('nodes that differ', () => {
  const nodes = [{ priority: 150 }, { priority: 100, more: 'excludedAddresses: []' }]
  const path = scenario(nodes)
  writeFileSync(join(folder, 'n2.yaml'), configuration({ priority: 100 }).replace('1s', '2s'))
  expect(json(path).warnings).toContain('VRID 51 (IPv4): intervals differ: n1 has 1000 ms; n2 has 2000 ms')
  writeFileSync(join(folder, 'n2.yaml'), configuration({ priority: 100 }).replace('vrid: 51', 'vrid: 52'))
  const { exitCode, stdout } = simulateCommand(path, { json: true })
  expect(JSON.parse(stdout).warnings).toContain('VRID 51 (IPv4): n1 alone has it, nobody would take over')
  expect(exitCode, 'two owners at the end').toBe(1)
})

test("keepalived's file, and who answered when", () => {
  const keepalived = (priority: number) => `vrrp_instance api {
  state BACKUP
  interface eth0
  virtual_router_id 51
  priority ${priority}
  version 3
  advert_int 1
  virtual_ipaddress { 10.0.0.100 }
}
`
  const path = scenario([{ priority: 1 }, { priority: 1 }], ['{ at: 20s, kind: power off, node: n1, for: 30s }'])
  for (const [i, priority] of [150, 100].entries()) writeFileSync(join(folder, `n${i + 1}.yaml`), keepalived(priority))
  const { addresses } = json(path)
  const [{ moments, worst }] = addresses
  const owners = moments.map((moment: { owners: string[] }) => moment.owners.join())
  expect(owners.slice(0, 4)).toEqual(['', 'n1', '', 'n2'])
  // RFC 9568 §6.1: three intervals and Skew_Time, less what had passed of the last one.
  expect(worst.none.ms).toBeGreaterThan(2_600)
  expect(worst.none.ms).toBeLessThan(3_650)
})

describe('what is wrong with a scenario', () => {
  const problemsOf = (path: string) => {
    const { exitCode, stderr } = simulateCommand(path)
    expect(exitCode).toBe(78)
    return stderr.replaceAll(`${folder}/`, '')
  }
  test.each([
    ['{ at: 1s, kind: crash, node: n1, for: 1s }', /^scenario\.yaml:5:21: Cannot use "crash" as "kind": crash engine,/],
    ['{ at: 1s, kind: stop, node: n9, for: 1s }', /Cannot find the node of "stop": n1 wanted/],
    ['{ at: 1s, kind: stop, node: n1 }', /Cannot do without the end of "stop"/],
    ['{ at: 1s, kind: loss, for: 1s }', /Cannot use "" as amount of "loss": a share like 20% wanted/],
    ['{ at: 1s, kind: loss, amount: 120%, for: 1s }', /Cannot use "120%" as amount/],
    ['{ at: 1s, kind: loss, amount: 5%, node: n1, for: 1s }', /it is of the whole LAN/],
    ['{ at: 1s, kind: clock step, amount: soon, node: n1 }', /a duration like 1h or -90s wanted/],
    ['{ at: 1s, kind: VIP deleted, node: n1, for: 1s }', /it is a moment/],
    ['{ at: 1s, kind: demoted, amount: 255, node: n1, for: 1s }', /a priority from 1 to 254 wanted/],
    ['{ at: 1s, kind: service down, checks: [none], node: n1, for: 1s }', /Cannot find the check "none" of n1/],
    ['{ at: 1s, kind: stop, checks: [api], node: n1, for: 1s }', /they belong to "service down"/],
    ['{ at: 1, kind: stop, node: n1, for: 1s }', /with its unit: 1s or 1ms/],
  ])('%s', (fault, problem) => {
    expect(problemsOf(scenario([{ priority: 100 }], [fault]))).toMatch(problem)
  })
  test('a configuration, with the place in its own file', () => {
    const path = scenario([{ priority: 300 }])
    expect(problemsOf(path)).toMatch(/^n1\.yaml:8:15: Cannot use 300 as "priority"/)
  })
  test('one that is written into it, with the place there', () => {
    const path = file(
      'inline.yaml',
      'version: 1\nnodes:\n  - name: n1\n    address: 10.0.0.1/24\n    configuration: { version: 1, vip: [] }\n',
    )
    expect(problemsOf(path)).toMatch(/^inline\.yaml:5:34: Cannot use unknown key "vip"/m)
  })
  test('several interfaces, and files of a node', () => {
    const path = scenario([{ priority: 100 }])
    const second = configuration({ priority: 100 }).split('virtualRouters:\n')[1] ?? ''
    const other = second.replace('name: api', 'name: b').replace('51', '52').replace('.100]', '.101]')
    writeFileSync(join(folder, 'n1.yaml'), configuration({ priority: 100 }) + other.replace('eth0', 'eth1'))
    expect(problemsOf(path)).toMatch(/it is on several interfaces \(eth0, eth1\), and the LAN here is one/)
    writeFileSync(join(folder, 'n1.yaml'), configuration({ priority: 100 }).replace('eth0', '{ holding: /run/ip }'))
    expect(problemsOf(path)).toMatch(/asks for a file of that node/)
  })
  test('no such file', () => {
    expect(simulateCommand(join(folder, 'nowhere.yaml'))).toMatchObject({ exitCode: 78 })
  })
})
