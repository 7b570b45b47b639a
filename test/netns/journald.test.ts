/**
 * The daemon's log in a real systemd journal. The shipped unit runs under a systemd of its own, with systemd-journald. Assertions use the
 * output of `journalctl`.
 */
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { eventually } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'
import { SystemdLab } from '../support/systemd-lab.ts'

const VIP = '10.0.0.200'
const FILE = '/etc/holdfast/holdfast.yaml'
const PRIORITIES: Readonly<Record<string, string>> = { ERROR: '3', WARN: '4', INFO: '6', DEBUG: '7' }
const configuration = (log = '') => `${log}
virtualRouters:
  - { name: api, vrid: 51, interface: eth0, addresses: [${VIP}/24], priority: 150, advertisementInterval: 100ms }
`

describeNetns('the log of the daemon in the systemd journal', () => {
  let lab: SystemdLab | undefined
  const machine = (): SystemdLab => {
    if (lab === undefined) throw new Error('Cannot look at the lab: it has not booted')
    return lab
  }
  const run = (line: string) => machine().output(...line.split(' '))
  const write = (text: string) =>
    machine().output('sh', '-c', 'mkdir -p /etc/holdfast && printf %s "$1" >"$2"', 'sh', text, FILE)
  /** Returns lines of the journal. journald reads the daemon's pipe; --sync waits until journald has read all lines. */
  const journal = (...options: string[]): string[] => {
    run('journalctl --sync')
    const shown = machine().run(
      'journalctl',
      '--no-pager',
      '-q',
      '-u',
      'holdfast',
      '_COMM=node',
      '+',
      '_COMM=holdfast-guardi',
      ...options,
    )
    return shown.output.trimEnd().split('\n')
  }
  const shows = (pattern: RegExp, ...options: string[]) =>
    eventually(
      `the journal to show ${pattern}`,
      () => journal('-o', 'cat', ...options).find((line) => pattern.test(line)),
      { sight: () => journal('-o', 'cat').slice(-8), within: 10_000, every: 100 },
    )
  const held = () => run('ip -brief address show eth0').includes(VIP)
  const holds = (wanted: boolean) =>
    eventually(`${VIP} ${wanted ? '' : 'not '}on eth0`, () => held() === wanted, {
      sight: () => journal('-o', 'cat').slice(-8),
      within: 15_000,
      every: 50,
    })

  beforeAll(async () => {
    lab = await SystemdLab.booted()
    const tree = join(lab.root, 'opt', 'holdfast')
    for (const part of ['bin', 'dist/bundle', 'native/prebuilds', 'node_modules/node-gyp-build', 'package.json']) {
      mkdirSync(join(tree, part, '..'), { recursive: true })
      cpSync(join(packageRoot(), part), join(tree, part), { recursive: true })
    }
    const unit = join(packageRoot(), 'deploy', 'systemd', 'holdfast.service')
    cpSync(unit, join(lab.root, 'etc', 'systemd', 'system', 'holdfast.service'))
    run('useradd --system holdfast')
    for (const line of ['link add eth0 type veth peer name lan', 'link set lan up', 'link set eth0 up'])
      run(`ip ${line}`)
    run('ip address add 10.0.0.1/24 dev eth0')
    run('systemctl daemon-reload')
    run('systemctl start systemd-journald.service')
    write(configuration())
    const started = machine().run('systemctl', 'start', 'holdfast')
    if (started.status !== 0) throw new Error(`holdfast does not start: ${journal().join('\n')}`)
  }, 60_000)
  afterAll(() => lab?.destroy())

  test('journalctl -p warning shows the warning, and no line of level info', async () => {
    await shows(/^INFO {2}api: Backup → Active: no other router was heard .*vrid=51.* reason=activeSilent/)
    run('ip link set lan down')
    await shows(/^WARN {2}api: Active → Initialize: its link is down /)
    run('ip link set lan up')
    await shows(/^INFO {2}api: Initialize → Backup/)
    await holds(true)

    const warnings = journal('-o', 'cat', '-p', 'warning')
    expect(warnings.filter((line) => line.startsWith('WARN  api: Active → Initialize: its link is down'))).toHaveLength(
      1,
    )
    expect(warnings.filter((line) => !/^(WARN|ERROR) /.test(line))).toEqual([])
    const records = journal('-o', 'json').map((line) => JSON.parse(line))
    for (const { MESSAGE, PRIORITY } of records) {
      const level = /^\w+/.exec(MESSAGE)?.[0] ?? MESSAGE
      expect([MESSAGE, PRIORITY]).toEqual([MESSAGE, PRIORITIES[level]])
    }
  })

  test('each line of the guardian has its priority, also after the death of the engine', async () => {
    run('pkill -KILL -x node')
    await shows(/^WARN {2}guardian: engine died: removed 1 VIP, sent priority 0 /, '-p', 'warning')
    await shows(
      /^ERROR guardian: engine killed by signal 9 \(SIGKILL\) event=engineKilled signal=9 core=false$/,
      '-p',
      'err',
    )
    await holds(true)
  })

  test('a reload changes level and format of the log while the daemon runs', async () => {
    const pid = run('systemctl show --value --property=MainPID holdfast')
    write(configuration('log: { level: warn, format: json }'))
    const reload = (...options: string[]) =>
      run(['/opt/holdfast/bin/holdfast reload', ...options].join(' ')).split('\n')
    const changes = ['log.level info → warn', 'log.format default → json']
    expect(reload('--dry-run')).toEqual([...changes, expect.stringContaining('would be reloaded')])
    expect(reload()).toEqual([...changes, expect.stringContaining('reloaded')])
    const before = journal('-o', 'cat').length
    run('ip link set lan down')
    await shows(/^\{"level":40,.*"msg":"api: Active → Initialize: its link is down"\}$/)
    run('ip link set lan up')
    await holds(true)
    write(configuration('log: { level: info }'))
    expect(reload()).toEqual([
      'log.level warn → info',
      'log.format json → default',
      expect.stringContaining('reloaded'),
    ])
    await shows(/^INFO {2}Reloaded \/etc\/holdfast\/holdfast.yaml: log.level warn → info, log.format json → default, /)
    expect(
      journal('-o', 'cat')
        .slice(before)
        .filter((line) => line.includes('Initialize → Backup')),
    ).toEqual([])
    expect(run('systemctl show --value --property=MainPID holdfast'), 'process id of the daemon after the reload').toBe(
      pid,
    )
  })

  test('a record of more than 48 KiB is one JSON document in the journal', async () => {
    const excluded = Array.from({ length: 255 }, (_, i) => `10.1.${i}.100/24`)
    const names = Array.from({ length: 300 }, (_, i) => `check-${i}`.padEnd(60, 'x'))
    const checks = names.map((name) => `{ name: ${name}, file: /etc, interval: 60s }`)
    const tracked = names.map((name) => `{ healthcheck: ${name}, weight: 1 }`)
    const more = Array.from({ length: 254 }, (_, i) => `10.2.${i}.100/24`)
    write(
      configuration(`log: { format: json }
healthchecks: [${checks}]`)
        .replace(`${VIP}/24`, `${VIP}/24, ${more}`)
        .replace('priority: 150', `priority: 150, track: [${tracked}], excludedAddresses: [${excluded}]`),
    )
    run('/opt/holdfast/bin/holdfast reload')
    await shows(/^\{"level":30,.*"msg":"Reloaded /)
    await holds(true)
    // SIGUSR1 makes the daemon log the states of all routers in one record.
    run('systemctl kill --kill-who=main --signal=SIGUSR1 holdfast')
    const dumped = await shows(/"msg":"api: \w+ since /)
    expect(JSON.parse(dumped)).toMatchObject({ router: 'api', shortened: ['snapshot'] })
    const begin = journal('-o', 'cat').findLastIndex((line) => line.includes('"msg":"Reloaded '))
    for (const line of journal('-o', 'cat').slice(begin))
      expect(() => JSON.parse(line), line.slice(0, 200)).not.toThrow()
  })
})
