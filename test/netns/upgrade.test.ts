/**
 * `holdfast upgrade` on the Active of two routers, seen from a client (docs/adr/0096). A new version takes over without
 * a lost probe. A refused upgrade leaves the running engine as it is.
 */
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Extra, Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { holdfastProgram, packageRoot } from '../../src/lab/installation.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { describeNetns } from '../support/require.ts'

const RUNS = Number(process.env.HOLDFAST_TEST_UPGRADES ?? 1)
/** Milliseconds for a test on a busy machine, where each start of a program takes seconds. */
const LONGEST = 180_000 + RUNS * 20_000
const PARTS = ['bin', 'dist/bundle', 'dist/packages.json', 'native/prebuilds', 'package.json']
const MAIN = 'dist/bundle/main.js'
const FILE = 'holdfast.yaml'

/** An installation of this package in a folder of the lab, which an upgrade replaces as install.sh does. */
class Installation {
  readonly #root: string

  constructor(lab: Lab) {
    this.#root = join(lab.directory, 'installation')
    this.#make('current', undefined)
  }

  get program(): string {
    return join(this.#root, 'current', 'bin', 'holdfast')
  }

  #make(name: string, version: string | undefined): void {
    const folder = join(this.#root, name)
    mkdirSync(folder, { recursive: true })
    for (const part of PARTS) {
      const from = join(packageRoot(), part)
      if (existsSync(from)) cpSync(from, join(folder, part), { recursive: true })
    }
    symlinkSync(join(packageRoot(), 'node_modules'), join(folder, 'node_modules'))
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    if (version !== undefined) writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }))
  }

  /** Puts another version in place. `break` may damage its folder before. */
  replace(version: string, damage: (folder: string) => void = () => {}): void {
    const [current, next, old] = ['current', 'next', 'old'].map((name) => join(this.#root, name))
    if (current === undefined || next === undefined || old === undefined) throw new Error('no folders')
    rmSync(old, { recursive: true, force: true })
    rmSync(next, { recursive: true, force: true })
    this.#make('next', version)
    damage(next)
    renameSync(current, old)
    renameSync(next, current)
  }
}

/** Puts a line in front of the program. */
const withLine = (line: string) => (folder: string) => {
  const file = join(folder, MAIN)
  writeFileSync(file, `${line}\n${readFileSync(file, 'utf8')}`)
}
const IN_ENGINE_ALONE = 'process.env.HOLDFAST_GUARDIAN_REHEARSAL === undefined && process.argv.includes("run") &&'

const SLEEP = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000)'

/** Returns the process that starts the next engine for the guardian of this one. */
function starterOf(engine: number): number {
  const guardian = Number(/PPid:\t(\d+)/.exec(readFileSync(`/proc/${engine}/status`, 'utf8'))?.[1])
  const children = readFileSync(`/proc/${guardian}/task/${guardian}/children`, 'utf8').trim().split(' ').map(Number)
  const isStarter = (pid: number) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'holdfast-start\n'
  return children.find(isStarter) ?? expect.fail('no starter')
}

type Outcome = { readonly status: number; readonly stdout: string; readonly stderr: string }

type Options = { readonly intervalMs?: number; readonly top?: Extra }

async function startGroup({ intervalMs = 100, top = {} }: Options = {}) {
  const lab = createLab({ routers: 2 })
  onTestFinished(() => lab.destroy())
  for (const host of lab.routers) startResponder(lab, host)
  const installation = new Installation(lab)
  const launcher = ['sh', '-c', 'shift; exec "$0" "$@"', installation.program]
  const daemons = lab.routers.map((host, i) => {
    const plan = { host, priority: 200 - 50 * i, intervalMs, address: LAB_VIP, realtime: true }
    return new Holdfast(lab, plan, {}, [], { lease: 'on', ...top }, i === 0 ? launcher : [])
  })
  const [first, second] = daemons
  if (first === undefined || second === undefined) throw new Error('Cannot start the group')
  await Promise.all(daemons.map((daemon) => daemon.ready()))
  await first.becomes('Active', 5 * intervalMs + 15_000)
  if (!('lease' in top)) await clocked(first)
  const upgrade = (signal?: AbortSignal) => run(['upgrade', '--socket', first.socket], signal)
  return { lab, first, second, installation, upgrade }
}

/** Runs a command of this package, which is never damaged. */
async function run(argv: readonly string[], signal?: AbortSignal): Promise<Outcome> {
  try {
    const { stdout, stderr } = await promisify(execFile)(holdfastProgram(), [...argv], { signal })
    return { status: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { status: code, stdout, stderr }
  }
}

const SIGHT = (daemon: Holdfast) => ({ sight: () => daemon.lastLines(8), within: 15_000, every: 20 })

const clocked = (daemon: Holdfast) =>
  eventually(`the clock of ${daemon.host.name} to run`, async () => (await daemon.router()).clock.armed, SIGHT(daemon))

const transitionsOf = async (daemon: Holdfast) => (await daemon.router()).counters.transitions

async function probing(lab: Lab, holder = 'r1'): Promise<Prober> {
  const prober = new Prober(lab, lab.client, LAB_VIP)
  await prober.answeredBy(holder)
  return prober
}

/** Upgrades, and expects that the engine goes on without a lost probe or a transition of either router. */
async function expectRefused({ first, lab, second, upgrade }: Group, { reason, status }: Refusal, holder = 'r1') {
  const [own, other] = [await transitionsOf(first), await transitionsOf(second)]
  const { pid } = await first.status()
  const prober = await probing(lab, holder)
  const outcome = await upgrade()
  expect(outcome.stderr).toMatch(reason)
  expect(outcome.status).toBe(status)
  await sleep(300)
  expect((await prober.stop()).lost, 'lost probes').toBe(0)
  expect((await first.status()).pid, 'process of the engine').toBe(pid)
  expect(await transitionsOf(first)).toEqual(own)
  expect(await transitionsOf(second)).toEqual(other)
}

type Group = Awaited<ReturnType<typeof startGroup>>
type Refusal = { readonly status: number; readonly reason: RegExp }
type Damage = (folder: string) => void

const REFUSALS: readonly (Refusal & { readonly what: string; readonly damage?: Damage; readonly text?: string })[] = [
  {
    what: 'a program that throws',
    status: 70,
    reason: /broken build/,
    damage: withLine('throw new Error("broken build")'),
  },
  {
    what: 'a program without its native addon',
    ...{ status: 70, reason: /native addon/i },
    damage: (folder) => rmSync(join(folder, 'native'), { recursive: true }),
  },
  { what: 'a file with an error', status: 70, reason: /priority/, text: '"priority": "high"' },
  {
    what: 'a file that was not reloaded',
    status: 1,
    reason: /has changed since it was loaded/,
    text: '"priority": 201',
  },
  {
    what: 'a file that is edited after the dry run',
    ...{ status: 70, reason: /dry run is out of date: .*has changed meanwhile/ },
    damage: withLine(
      'process.env.HOLDFAST_GUARDIAN_REHEARSAL && process.on("exit", () => process.getBuiltinModule("fs").appendFileSync(process.argv[process.argv.indexOf("-c") + 1], "\\n"))',
    ),
  },
  {
    what: 'a program that needs a newer guardian',
    ...{ status: 1, reason: /needs a newer guardian than the running one: restart the service/ },
    damage: withLine('process.env.HOLDFAST_GUARDIAN_REHEARSAL &&= "0"'),
  },
  {
    what: 'a program that would fill the memory',
    ...{ status: 70, reason: /Max file size +1048576[\s\S]*oom_score_adj 1000/ },
    damage: withLine(
      'if (process.env.HOLDFAST_GUARDIAN_REHEARSAL) { const { readFileSync } = process.getBuiltinModule("node:fs"); ' +
        'throw new Error(readFileSync("/proc/self/limits", "utf8") + "oom_score_adj " + readFileSync("/proc/self/oom_score_adj", "utf8")) }',
    ),
  },
  {
    what: 'a program that cannot read the record',
    ...{ status: 1, reason: /record of another form: restart the service/ },
    damage: withLine('delete process.env.HOLDFAST_GUARDIAN_SNAPSHOT'),
  },
]

describeNetns('holdfast upgrade', () => {
  vi.setConfig({ testTimeout: LONGEST })

  test.each([100, 1_000])('at %d ms: another version takes over, and no client loses a probe', async (intervalMs) => {
    const lost: number[] = []
    const { first, installation, lab, second, upgrade } = await startGroup({ intervalMs })
    const before = await transitionsOf(second)
    for (let i = 1; i <= RUNS; i++) {
      const prober = await probing(lab)
      installation.replace(`9.0.${i}`)
      const { status, stderr, stdout } = await upgrade()
      expect(stderr).toBe('')
      expect(stdout).toMatch(
        new RegExp(`^Version 9\\.0\\.${i} replaced version .* within \\d+ ms: vip kept the addresses`),
      )
      expect(status).toBe(0)
      await sleep(1_500)
      lost.push((await prober.stop()).lost)
      expect(await transitionsOf(second), 'transitions of the Backup').toEqual(before)
      expect((await first.router()).reason).toBe('engineUpgraded')
      expect(lab.holders(LAB_VIP)).toEqual(['r1'])
      await clocked(first)
    }
    console.log(`${intervalMs} ms: lost probes by upgrade: ${lost.join(' ')}`)
    expect(Math.max(...lost), 'lost probes').toBe(0)
    expect((await first.status()).engineRestarts).toBe(0)
    const events = first.records.map(({ event }) => event)
    for (const event of ['upgradeOrdered', 'engineReplaced', 'engineUpgraded']) expect(events).toContain(event)
    for (const event of ['plansExecuted', 'engineKilled', 'engineRestarted']) expect(events).not.toContain(event)
    const journal = await eventually(
      'the event in the journal',
      () => /"kind":"engineUpgraded".*/.exec(readFileSync(join(first.directory, 'events.jsonl'), 'utf8'))?.[0],
      SIGHT(first),
    )
    expect(journal).toContain('"to":"9.0.1"')
    const told = execFileSync(installation.program, ['explain', '--socket', first.socket], { encoding: 'utf8' })
    expect(told).toMatch(/version 9\.0\.\d+ replaced version .* within [\d.]+ m?s; vip kept the addresses/)
    expect(told).not.toMatch(/crashed|was killed/)
  })

  test('a Backup is upgraded, and nothing moves', async () => {
    const { first, second } = await startGroup({})
    const before = await transitionsOf(first)
    const { status, stdout } = await run(['upgrade', '--socket', second.socket])
    expect(stdout).toMatch(/it had no address/)
    expect(status).toBe(0)
    await second.becomes('Backup')
    expect(await transitionsOf(first)).toEqual(before)
  })

  test('a refused upgrade leaves the engine as it is', async () => {
    const group = await startGroup({})
    const file = join(group.first.directory, FILE)
    const loaded = readFileSync(file, 'utf8')
    for (const { damage, text, what, ...refusal } of REFUSALS) {
      expect(what).not.toBe('')
      group.installation.replace('9.0.1', damage)
      writeFileSync(file, text === undefined ? loaded : loaded.replace(/"priority": \d+/, text))
      await expectRefused(group, refusal)
      writeFileSync(file, loaded)
    }
    expect(group.first.records.filter(({ event }) => event === 'upgradeRefused')).toHaveLength(REFUSALS.length)
    await group.first.yieldFor(60_000)
    await group.second.becomes('Active')
    await group.first.becomes('Backup')
    await expectRefused(group, { status: 1, reason: /virtual router vip yields/ }, 'r2')
  })

  test('without a starter, an upgrade is refused as impossible', async () => {
    const group = await startGroup({})
    process.kill(starterOf((await group.first.status()).pid), 'SIGKILL')
    await expectRefused(group, { status: 1, reason: /the guardian cannot start the program/ })
  })

  test('an engine that needs longer than the lifetime of an address keeps it', async () => {
    const { first, installation, lab, second, upgrade } = await startGroup({})
    const before = await transitionsOf(second)
    installation.replace('9.0.1', withLine(`${IN_ENGINE_ALONE} ${SLEEP}`))
    const prober = await probing(lab)
    const { status, stdout } = await upgrade()
    expect(stdout).toMatch(/vip kept the addresses/)
    expect(status).toBe(0)
    expect((await prober.stop()).lost, 'lost probes').toBe(0)
    expect(await transitionsOf(second)).toEqual(before)
    expect((await first.router()).reason).toBe('engineUpgraded')
  })

  test('without lease: on, an upgrade is refused', async () => {
    const group = await startGroup({ top: { lease: 'off' } })
    await expectRefused(group, { status: 1, reason: /lease: must be "on"/ })
  })

  test('an engine that dies after the hand-over releases the addresses', async () => {
    const { first, installation, lab, second, upgrade } = await startGroup({})
    installation.replace('9.0.1', withLine(`${IN_ENGINE_ALONE} process.exit(9)`))
    const taken = new AbortController()
    const command = upgrade(taken.signal)
    await second.becomes('Active', 20_000)
    // The command would go on waiting for an engine.
    taken.abort()
    await command
    await eventually('r2 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r2', SIGHT(first))
    expect(first.process.exit).toBeDefined()
    expect(first.records.some(({ event }) => event === 'plansExecuted')).toBe(true)
  })
})
