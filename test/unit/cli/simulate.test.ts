/**
 * `holdfast simulate`: the page's own example gives what the page shows, the warnings appear where they should and only
 * there, and what is wrong with a scenario is said with its place.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { simulateCommand } from '../../../src/cli/simulate.ts'

const PAGE = join(import.meta.dirname, '..', '..', '..', 'docs', 'simulate.md')
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

describe('a gate of CI', () => {
  const small = [
    { priority: 150, weight: -20 },
    { priority: 100, weight: -20 },
  ]
  const enough = small.map((node) => ({ ...node, weight: -60 }))
  const lastLine = ({ stdout }: { readonly stdout: string }) => stdout.trimEnd().split('\n').at(-1)
  const expecting = (path: string, outage: string) =>
    writeFileSync(path, `${readFileSync(path, 'utf8')}expect: { outage: ${outage} }\n`)

  test('a weight that moves nothing is a warning, and fails with --expect', () => {
    const path = scenario(small)
    const plain = simulateCommand(path)
    expect([plain.exitCode, lastLine(plain)]).toEqual([0, 'result: ok, 1 warning'])
    const strict = simulateCommand(path, { expect: true })
    expect([strict.exitCode, lastLine(strict)]).toEqual([1, 'result: FAILED: 1 failed check would not move an address'])
    const good = simulateCommand(scenario(enough), { expect: true })
    expect([good.exitCode, lastLine(good)]).toEqual([0, 'result: ok'])
  })

  test('an outage over the bound of the scenario fails, one within it does not', () => {
    const faults = ['{ at: 20s, kind: power off, node: n1, for: 1m30s }']
    const path = scenario([{ priority: 150 }, { priority: 100 }], faults)
    expecting(path, '5s')
    const within = simulateCommand(path)
    expect([within.exitCode, lastLine(within)]).toEqual([0, 'result: ok'])
    scenario([{ priority: 150 }, { priority: 100 }], faults)
    expecting(path, '1s')
    const over = simulateCommand(path)
    expect(over.exitCode).toBe(1)
    expect(lastLine(over)).toMatch(
      /^result: FAILED: service at 10.0.0.100 not reachable for \d{4} ms at 20.000 s, at most 1s expected$/,
    )
  })

  test('a dead service is an outage although its node holds the address', () => {
    const faults = ['{ at: 20s, kind: service down, node: n1, for: 30s }']
    const stays = json(scenario(small, faults)).addresses[0].worst
    expect([stays.none.ms, stays.client.ms, Math.round(stays.service.ms)]).toEqual([0, 0, 30_000])
    const { stdout } = simulateCommand(scenario(small, faults))
    expect(stdout).toContain('  no node held the address: never\n')
    expect(stdout).toContain(
      '  service not reachable through the VIP: 30000 ms at most, at 20.000 s (after service down on n1, for 30s)\n',
    )
    const moves = json(scenario(enough, faults)).addresses[0].worst
    expect(moves.service.ms).toBeGreaterThan(500)
    expect(moves.service.ms).toBeLessThan(5_000)
  })

  test('a check that is named counts when a client would notice it', () => {
    const worst = (checks: string) => {
      const path = scenario(enough, [`{ at: 20s, kind: service down, node: n1, checks: [${checks}], for: 30s }`])
      for (const name of ['n1.yaml', 'n2.yaml']) {
        const text = readFileSync(join(folder, name), 'utf8')
        const more = text.replace('healthchecks: [', 'healthchecks: [{ name: disk, file: /run/x }, ')
        writeFileSync(join(folder, name), more.replace('track: [', 'track: [{ healthcheck: disk, weight: -1 }, '))
      }
      return json(path).addresses[0].worst.service.ms
    }
    expect(worst('disk')).toBe(0)
    expect(worst('api')).toBeGreaterThan(500)
  })
})

test('the version of the scenario may be left out', () => {
  const path = scenario([{ priority: 150 }, { priority: 100 }])
  writeFileSync(path, readFileSync(path, 'utf8').replace('version: 1\n', ''))
  expect(simulateCommand(path).exitCode).toBe(0)
})

test('a node with both families has a link-local address of its own', () => {
  const six = '\n  - { name: six, vrid: 51, interface: eth0, addresses: ["fd44::100"], priority: 100, stagger: false }'
  const path = scenario([{ priority: 150 }, { priority: 100 }])
  for (const name of ['n1.yaml', 'n2.yaml'])
    writeFileSync(join(folder, name), readFileSync(join(folder, name), 'utf8') + six)
  for (const addresses of ['address: 10.0.0.$1/24', 'addresses: [10.0.0.$1/24, "fd44::$1/64"]']) {
    const text = readFileSync(path, 'utf8').replace(
      /address(es)?: \[?10\.0\.0\.(\d)\/24[^}]*?(?=, conf)/g,
      addresses.replaceAll('$1', '$2'),
    )
    writeFileSync(path, text)
    const { exitCode, stdout } = simulateCommand(path, { json: true })
    expect(
      JSON.parse(stdout).warnings.filter((text: string) => /sourceAddressMissing|no node held/.test(text)),
    ).toEqual([])
    expect(exitCode).toBe(0)
  }
})

test('nodes that differ', () => {
  const nodes = [{ priority: 150 }, { priority: 100, more: 'excludedAddresses: []' }]
  const path = scenario(nodes)
  writeFileSync(join(folder, 'n2.yaml'), configuration({ priority: 100 }).replace('1s', '2s'))
  expect(json(path).warnings).toContain('VRID 51 (IPv4): intervals differ: n1 has 1000 ms; n2 has 2000 ms')
  writeFileSync(join(folder, 'n2.yaml'), configuration({ priority: 100 }).replace('vrid: 51', 'vrid: 52'))
  const { exitCode, stdout } = simulateCommand(path, { json: true })
  expect(JSON.parse(stdout).warnings).toContain('VRID 51 (IPv4): n1 alone has it, so no other node can take over')
  expect(exitCode, 'two holders at the end').toBe(1)
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
  const holders = moments.map((moment: { holders: string[] }) => moment.holders.join())
  expect(holders.slice(0, 4)).toEqual(['', 'n1', '', 'n2'])
  // RFC 9568 §6.1: three intervals and Skew_Time, less what had passed of the last one.
  expect(worst.none.ms).toBeGreaterThan(2_600)
  expect(worst.none.ms).toBeLessThan(3_650)
})

const keepalivedFile = (priority: number, more = ''): string => `vrrp_script chk {
  script /bin/true
  interval 1
  weight -60
}
vrrp_instance api {
  state BACKUP
  interface eth0
  virtual_router_id 51
  priority ${priority}
  version 3
  advert_int 1
  ${more}
  virtual_ipaddress { 10.0.0.100 }
  track_script { chk }
}
`

describe('keepalived beside holdfast', () => {
  const mixed = (more = '', faults: readonly string[] = []): string => {
    const path = scenario([{ priority: 100 }, { priority: 1 }], faults)
    file('n2.conf', keepalivedFile(150, more))
    return file('mixed.yaml', readFileSync(path, 'utf8').replace('n2.yaml', 'n2.conf, daemon: keepalived'))
  }
  const changesOf = (path: string) =>
    json(path)
      .addresses[0].moments.map(({ at, holders }: { at: number; holders: string[] }) => ({ at, who: holders.join() }))
      .filter(({ who }: { who: string }, i: number, all: { who: string }[]) => all[i - 1]?.who !== who)

  test('its address stays in the kernel of a node whose processes are killed, until it is started again', () => {
    const path = mixed('', ['{ at: 20s, kind: crash both, node: n2, for: 10s }'])
    const after = changesOf(path).filter(({ at }: { at: number }) => at > 10_000)
    expect(after.map(({ who }: { who: string }) => who)).toEqual(['n1,n2', 'n1', 'n1,n2', 'n2'])
    expect(after[1].at, 'ms: when keepalived starts again, it takes off what it left').toBeCloseTo(30_150, -1)
    expect(after[2].at - after[1].at, 'ms: Active_Down_Interval of priority 150, then it preempts').toBeCloseTo(
      3_414,
      -2,
    )
  })
  test('SIGTERM costs the Skew_Time of its successor, and an order that it does not have is refused', () => {
    const { worst } = json(mixed('', ['{ at: 20s, kind: stop, node: n2, for: 10s }'])).addresses[0]
    expect(worst.none.ms, 'ms of nobody: 156/256 of an interval').toBeCloseTo(609, -1)
    const { exitCode, stderr } = simulateCommand(mixed('', ['{ at: 20s, kind: yield, node: n2, for: 10s }']))
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining('faults[0].kind: keepalived on n2 cannot yield'),
    })
  })
  test('its scripts weigh, and are tried', () => {
    const { keepalived, warnings } = json(mixed())
    expect({ keepalived, warnings }).toEqual({ keepalived: ['n2'], warnings: [] })
    const small = mixed()
    file('n2.conf', keepalivedFile(150).replace('-60', '-20'))
    expect(json(small).warnings).toEqual([
      '10.0.0.100 stays on n2 when "chk" fails: n2 goes on with priority 130, n1 has 100',
    ])
  })
  test('what it speaks alone is seen: two holders at the end', () => {
    const path = mixed()
    file('n2.conf', keepalivedFile(150).replace('version 3', 'version 2'))
    const { exitCode, stdout } = simulateCommand(path, { json: true })
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout).warnings).toContain('VRID 51 (IPv4): versions differ: n1 has version 3; n2 has version 2')
  })
  test('what cannot be asked of the model is refused', () => {
    expect(simulateCommand(mixed('down_timer_adverts 5')).stderr).toContain('Cannot simulate "api" of n2: ')
    expect(simulateCommand(mixed('down_timer_adverts 5')).stderr).toContain('down_timer_adverts')
    const text = readFileSync(mixed(), 'utf8').replace('n2.conf', '{ version: 1 }')
    expect(simulateCommand(file('mixed.yaml', text)).stderr).toContain(
      'nodes[1].configuration: keepalived on n2 cannot run a holdfast document, expected the name of its file',
    )
    const yaml = readFileSync(mixed(), 'utf8').replace('n2.conf', 'n1.yaml')
    expect(simulateCommand(file('mixed.yaml', yaml))).toMatchObject({ exitCode: 78 })
  })
})

describe('what is wrong with a scenario', () => {
  const problemsOf = (path: string) => {
    const { exitCode, stderr } = simulateCommand(path)
    expect(exitCode).toBe(78)
    return stderr.replaceAll(`${folder}/`, '')
  }
  test.each([
    [
      '{ at: 1s, kind: crash, node: n1, for: 1s }',
      /^scenario\.yaml:5:21: faults\[0\]\.kind: cannot use "crash", expected crash engine,/,
    ],
    ['{ at: 1s, kind: stop, node: n9, for: 1s }', /faults\[0\]\.node: there is no node "n9", expected one of n1$/m],
    ['{ at: 1s, kind: stop, node: n1 }', /faults\[0\]\.for: required for "stop", a duration like 10s/],
    ['{ at: 1s, kind: loss, for: 1s }', /faults\[0\]\.amount: required for "loss", a share like 20%/],
    [
      '{ at: 1s, kind: loss, amount: 120%, for: 1s }',
      /faults\[0\]\.amount: cannot use "120%", expected a share like 20%/,
    ],
    [
      '{ at: 1s, kind: loss, amount: 5%, node: n1, for: 1s }',
      /faults\[0\]\.node: "loss" concerns the whole LAN, expected no node/,
    ],
    [
      '{ at: 1s, kind: clock step, amount: soon, node: n1 }',
      /faults\[0\]\.amount: cannot use "soon", expected a duration like 1h or -90s/,
    ],
    ['{ at: 1s, kind: VIP deleted, node: n1, for: 1s }', /faults\[0\]\.for: "VIP deleted" has no duration/],
    [
      '{ at: 1s, kind: demoted, amount: 255, node: n1, for: 1s }',
      /faults\[0\]\.amount: cannot use "255", expected a priority from 1 to 254/,
    ],
    ['{ at: 1s, kind: service down, checks: [none], node: n1, for: 1s }', /Cannot find the check "none" of n1/],
    [
      '{ at: 1s, kind: stop, checks: [api], node: n1, for: 1s }',
      /faults\[0\]\.checks: "stop" has no checks, expected "service down"/,
    ],
    ['{ at: 1, kind: stop, node: n1, for: 1s }', /with its unit: 1s or 1ms/],
  ])('%s', (fault, problem) => {
    expect(problemsOf(scenario([{ priority: 100 }], [fault]))).toMatch(problem)
  })
  test('a configuration, with the place in its own file', () => {
    const path = scenario([{ priority: 300 }])
    expect(problemsOf(path)).toMatch(/^n1\.yaml:8:15: virtualRouters\[0\]\.priority: cannot use 300/)
  })
  test('one that is written into it, with the place there', () => {
    const path = file(
      'inline.yaml',
      'version: 1\nnodes:\n  - name: n1\n    address: 10.0.0.1/24\n    configuration: { version: 1, vip: [] }\n',
    )
    expect(problemsOf(path)).toMatch(/^inline\.yaml:5:34: unknown key "vip"/m)
  })
  test.each([
    ['nodes: [{ nam: n1 }]', /^\S+: unknown key "nam" in nodes\[0\]: did you mean "name"\?$/m],
    ['nodes: [{ name: n1, xyz: 1 }]', /: unknown key "xyz" in nodes\[0\]: known keys are name, daemon, address, /],
    ['faults: [{ at: 1s, check: web }]', /: unknown key "check" in faults\[0\]: did you mean "checks"\?$/m],
    // A word of keepalived's files stands for nothing here.
    ['nodes: [{ name: n1, state: MASTER }]', /: unknown key "state" in nodes\[0\]: known keys are name, /],
    ['nodes: [{ name: n1, constructor: 1 }]', /: unknown key "constructor" in nodes\[0\]: known keys are name, /],
  ])('an unknown key of a scenario is told with the keys of scenarios: %s', (text, problem) => {
    expect(problemsOf(file('unknown.yaml', `${text}\n`))).toMatch(problem)
  })
  test('several interfaces, and files of a node', () => {
    const path = scenario([{ priority: 100 }])
    const second = configuration({ priority: 100 }).split('virtualRouters:\n')[1] ?? ''
    const other = second.replace('name: api', 'name: b').replace('51', '52').replace('.100]', '.101]')
    writeFileSync(join(folder, 'n1.yaml'), configuration({ priority: 100 }) + other.replace('eth0', 'eth1'))
    expect(problemsOf(path)).toMatch(/it uses several interfaces \(eth0, eth1\), but a simulation has one LAN/)
    writeFileSync(join(folder, 'n1.yaml'), configuration({ priority: 100 }).replace('eth0', '{ holding: /run/ip }'))
    expect(problemsOf(path)).toMatch(/reads a file of that node/)
  })
  test('no such file', () => {
    expect(simulateCommand(join(folder, 'nowhere.yaml'))).toMatchObject({ exitCode: 78 })
  })
})
