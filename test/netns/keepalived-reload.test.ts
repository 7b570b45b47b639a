/**
 * A running daemon with a keepalived file, and a reload of a file that keepalived 2.2.7 refuses. The configuration in force stays, and
 * every output reports the refusal. A client that asks once a millisecond gets every answer. A second node waits for the VIP.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask } from '../../src/files/control-client.ts'
import { HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { snapshotOf } from '../../src/lab/status.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { instanceOf } from '../support/keepalived-refusals.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 30_000
/** Command that gives the daemon a /run of its own, because a keepalived file cannot name another folder. */
const OWN_RUN = ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs none /run && exec "$@"', 'sh']

const good = (priority: number) => instanceOf({ priority: `priority ${priority}` }, 'vip', `${LAB_VIP}/32`)
/** Selected rows of the table of test/support/keepalived-refusals.ts, each with a line of the expected answer. */
const REFUSED: readonly (readonly [title: string, text: string, problem: RegExp])[] = [
  [
    'virtual_router_ID',
    good(150).replace('virtual_router_id', 'virtual_router_ID'),
    /virtual_router_ID|virtual_router_id/,
  ],
  ['a VRID twice', good(150) + instanceOf({}, 'other', '10.77.0.101/32'), /51/],
  ['no interface', good(150).replace('interface eth0', ''), /interface/],
  ['a keyword without its value', good(150).replace('priority 150', 'priority'), /priority/],
  ['no file with sense in it', '{', /./],
]

class Node {
  readonly host: Host
  readonly file: string
  readonly process: LoggedProcess

  constructor(lab: Lab, position: number, priority: number) {
    this.host = lab.router(position)
    this.file = join(lab.directory, `${this.host.name}.conf`)
    writeFileSync(this.file, good(priority))
    const argv = [...OWN_RUN, HOLDFAST, 'run', '-f', this.file, '--listen', 'false']
    this.process = new LoggedProcess(lab, this.host, argv)
  }

  get socket(): string {
    return `/proc/${this.process.pid}/root/run/holdfast/holdfast.sock`
  }

  async becomes(state: string): Promise<void> {
    const look = async () => (await snapshotOf(this.socket))?.routers[0]?.state
    const logged = () => this.process.lines.slice(-5).map(({ text }) => text)
    await eventually(`${this.host.name} to be ${state}`, async () => (await look()) === state, {
      sight: logged,
      every: 50,
    })
  }

  command(...argv: readonly string[]) {
    const { status, stdout, stderr } = spawnSync(HOLDFAST, [...argv, '-s', this.socket], {
      encoding: 'utf8',
      timeout: WITHIN,
    })
    return { status, stdout, stderr }
  }

  async body(path: string) {
    return ask(this.socket, { path, within: 5_000 })
  }
}

describeNetns('a reload of a keepalived file that keepalived refuses', () => {
  test('keeps the old configuration, is reported by every output, and costs the client no answer', {
    timeout: 120_000,
  }, async () => {
    const network = labOfTest({ routers: 2 })
    for (const host of network.routers) startResponder(network, host)
    const first = new Node(network, 1, 150)
    await first.becomes('Active')
    const second = new Node(network, 2, 100)
    await second.becomes('Backup')
    const prober = new Prober(network, network.client, LAB_VIP)
    await prober.answeredBy('r1', WITHIN)
    const before = await snapshotOf(first.socket)
    const from = monotonicMs()

    let failed = 0
    const isKept = async (title: string) => {
      failed++
      const shown = `after ${title}`
      const status = first.command('status')
      expect([status.status, status.stdout], shown).toEqual([0, expect.stringContaining('LAST RELOAD FAILED')])
      const snapshot = await snapshotOf(first.socket)
      expect(snapshot, shown).toMatchObject({
        pid: before?.pid,
        config: {
          hash: before?.config.hash,
          reloads: { ok: 0, failed },
          lastReload: {
            ok: false,
            problems: expect.arrayContaining([expect.objectContaining({ file: first.file, severity: 'error' })]),
          },
        },
      })
      expect(snapshot?.routers, shown).toEqual([expect.objectContaining({ name: 'vip', state: 'Active', vrid: 51 })])
      const metrics = (await first.body('/metrics')).body
      expect(metrics, shown).toContain('\nholdfast_config_reload_success 0\n')
      expect(metrics, shown).toContain(`\nholdfast_config_reloads_total{result="failed"} ${failed}\n`)
      // The daemon follows its configuration in force, so a readiness probe must not restart the daemon.
      expect(await first.body('/readyz'), shown).toMatchObject({ status: 200, body: 'ok\n' })
      expect(network.holders(LAB_VIP), shown).toEqual(['r1'])
    }
    for (const [title, text, problem] of REFUSED) {
      const logged = first.process.lines.length
      writeFileSync(first.file, text)
      const { status, stdout, stderr } = first.command('reload')
      expect([title, status, stdout]).toEqual([title, 78, ''])
      expect(stderr, title).toMatch(new RegExp(`^${first.file}:\\d+:\\d+: `))
      expect(stderr.split('\n')[0], title).toMatch(problem)
      expect(stderr, title).toMatch(/holdfast: Cannot reload \S+: .*; the configuration in force is kept\n$/)
      const told = () => first.process.lines.slice(logged).map((line) => line.text)
      await eventually(
        `the log to name the reload and the place after ${title}`,
        () =>
          told().some((line) => /"level":50.*Cannot reload/.test(line)) &&
          told().some((line) => /"level":50.*\.conf:\d+:/.test(line)),
        { sight: told },
      )
      await isKept(title)
    }
    // The reload by signal, as a keepalived tool does it, with the last of the refused files.
    const logged = first.process.lines.length
    first.process.signal('SIGHUP')
    await eventually(
      'the log to tell of the reload by the signal',
      () => first.process.lines.slice(logged).some(({ text }) => text.includes('Cannot reload')),
      { sight: () => first.process.lines.slice(logged).map(({ text }) => text) },
    )
    await isKept('SIGHUP')

    writeFileSync(first.file, good(160))
    const mended = first.command('reload')
    expect([mended.status, mended.stdout]).toEqual([0, expect.stringContaining('priority 150 → 160')])
    expect(first.command('status').stdout).not.toContain('LAST RELOAD FAILED')
    expect((await first.body('/metrics')).body).toContain('\nholdfast_config_reload_success 1\n')

    const until = monotonicMs()
    const { lost } = await prober.stop()
    expect(
      prober.holders.map(({ name }) => name),
      'who answered the client',
    ).toEqual(['r1'])
    expect([lost, prober.longestGap(from, until)], 'probes without an answer, the longest silence in ms').toEqual([
      0, 0,
    ])
    expect(second.process.lines.filter(({ text }) => text.includes('→ Active'))).toEqual([])
  })
})
