/**
 * Real keepalived on the same node. If holdfast would remove keepalived's addresses, holdfast does not start and names the reason. With
 * --force, holdfast starts. A keepalived in another network namespace, or without VRRP, does not matter.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { statusCommand } from '../../src/cli/status/status.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { Keepalived } from '../../src/lab/daemons/keepalived.ts'
import { HOLDFAST, LAB_VIP } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeInterop } from '../support/require.ts'

/** Command with the least privileges of the daemon. The daemon then cannot read the descriptors of a root process with all capabilities. */
const LEAST = ['setpriv', '--bounding-set', '-all,+net_admin,+net_raw', '--inh-caps', '-all']

function plans(vrid = 51) {
  const lab = labOfTest({ routers: 2 })
  const plan = { intervalMs: 100, address: LAB_VIP, vrid }
  return {
    lab,
    neighbour: { ...plan, host: lab.router(1), priority: 150 },
    ours: { ...plan, host: lab.router(1), priority: 200 },
  }
}

const text = (daemon: Holdfast) => daemon.process.lines.map((line) => line.text).join('\n')

const holds = (keepalived: Keepalived) =>
  eventually('keepalived to be Active', async () => (await keepalived.state()) === 'Active', {
    sight: () => '',
    within: 10_000,
  })

describeInterop('a start of holdfast beside keepalived on the same node', () => {
  test.each([
    ['by its socket', []],
    ['also by a daemon that may not look at its descriptors', LEAST],
  ] as const)('is found %s: status 1, its pid, and nothing is touched', async (_, launcher) => {
    const { lab, neighbour, ours } = plans()
    const keepalived = new Keepalived(lab, neighbour)
    await holds(keepalived)
    const before = lab.addresses(lab.router(1))
    const daemon = new Holdfast(lab, ours, {}, [], {}, launcher)
    const ended = await eventually('holdfast to end', () => daemon.process.exit, {
      sight: () => text(daemon),
      within: 10_000,
    })
    expect(ended.code).toBe(1)
    const said = /Cannot run: keepalived \(pid (\d+)\).* speaks VRRP in this network namespace/.exec(text(daemon))
    expect(said, text(daemon)).not.toBeNull()
    const comm = spawnSync('cat', [`/proc/${said?.[1]}/comm`], { encoding: 'utf8' }).stdout.trim()
    expect(comm, 'name of the process with the reported pid').toBe('keepalived')
    expect(text(daemon)).toContain('--force runs anyway')
    expect(
      text(daemon).includes('probably'),
      'whether the message says "probably", as it must if the descriptors could not be read',
    ).toBe(launcher.length > 0)
    expect(lab.addresses(lab.router(1)), 'the addresses of keepalived').toEqual(before)
    expect(await keepalived.state()).toBe('Active')

    const checked = spawnSync('ip', ['netns', 'exec', ours.host.namespace, HOLDFAST, 'check', '--node', daemon.file], {
      encoding: 'utf8',
    })
    expect([checked.status, checked.stdout]).toEqual([
      0,
      expect.stringMatching(/warning: Cannot run: keepalived \(pid \d+\)/),
    ])
  })

  test('runs with --force, and log and status name the keepalived beside it', async () => {
    const { lab, neighbour } = plans()
    const keepalived = new Keepalived(lab, neighbour)
    await holds(keepalived)
    const plan = { host: lab.router(1), priority: 200, intervalMs: 100, address: '10.77.0.101', vrid: 52 }
    const daemon = new Holdfast(lab, plan, {}, ['--force'])
    await daemon.ready()
    // The log arrives by another way than the status.
    const told = await eventually(
      'the log to say so',
      () => daemon.records.find(({ msg }) => msg.includes('because of --force')),
      { sight: () => daemon.lines, within: 2_000 },
    )
    expect(told).toMatchObject({ level: 40 })
    expect((await daemon.snapshot())?.keepalivedBeside).toEqual([{ pid: expect.any(Number), name: 'keepalived' }])
    expect((await statusCommand(daemon.socket, { json: false })).stdout).toMatch(/^KEEPALIVED \(pid \d+\) spoke VRRP/m)
  })

  test('succeeds if keepalived runs without VRRP or in another network namespace', async () => {
    const { lab, neighbour, ours } = plans()
    const elsewhere = new Keepalived(lab, { ...neighbour, host: lab.router(2), priority: 50 })
    const directory = join(lab.directory, 'keepalived-checkers')
    mkdirSync(directory)
    const file = join(directory, 'keepalived.conf')
    writeFileSync(
      file,
      'global_defs {\n  router_id checkers\n}\nvirtual_server 10.77.0.200 80 {\n  delay_loop 5\n  lvs_sched rr\n  lvs_method NAT\n  protocol TCP\n}\n',
    )
    const argv = ['keepalived', '--dont-fork', '--log-console', '--use-file', file, '--check']
    const pids = ['--pid', join(directory, 'pid'), '--checkers_pid', join(directory, 'checkers.pid')]
    const checkers = new LoggedProcess(lab, lab.router(1), [...argv, ...pids])
    await checkers.line(/Starting Keepalived/, 10_000)
    const daemon = new Holdfast(lab, ours, {}, [], {}, LEAST)
    await daemon.ready()
    expect(checkers.exit, 'exit of the keepalived without VRRP, which must still run').toBeUndefined()
    expect(daemon.records.filter(({ msg }) => /keepalived|VRRP in this network/.test(msg))).toEqual([])
    await elsewhere.ready()
  })
})
