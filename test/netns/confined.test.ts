/**
 * The seccomp filter of the guardian (docs/adr/0095): on both of its threads, not on the engine, and not on an engine
 * that it has started again. A program that confines itself in the same way
 * tries the calls that the filter refuses.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { createLab, LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const within = (daemon: Holdfast) => ({ sight: () => daemon.lastLines(8), within: 15_000, every: 20 })

function statusOf(path: string) {
  const text = readFileSync(`/proc/${path}/status`, 'utf8')
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)$`, 'm').exec(text)?.[1]
  return {
    ...{ name: field('Name'), parent: Number(field('PPid')), state: /^State:\s*(\S)/m.exec(text)?.[1] },
    ...{ seccomp: field('Seccomp'), gains: field('NoNewPrivs') },
  }
}

const threadsOf = (pid: number) => readdirSync(`/proc/${pid}/task`).map((thread) => statusOf(`${pid}/task/${thread}`))
const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
const starterOf = (guardian: number) =>
  childrenOf(guardian).find((pid) => statusOf(String(pid)).name === 'holdfast-start') ?? expect.fail('no starter')

const clocked = (daemon: Holdfast) =>
  eventually('the clock to run', async () => (await daemon.router()).clock.armed, within(daemon))

/** A daemon that is Active and leaves its advertisements to the clock. */
async function startClocked() {
  const lab = createLab({ routers: 1 })
  onTestFinished(() => lab.destroy())
  const plan = { host: lab.router(1), priority: 200, intervalMs: 1_000, address: LAB_VIP }
  const daemon = new Holdfast(lab, plan, {}, [], { lease: 'on', onCrash: 'restart' })
  await daemon.ready()
  await daemon.becomes('Active', 20_000)
  await clocked(daemon)
  const engine = (await daemon.status()).pid
  return { lab, daemon, engine, guardian: statusOf(String(engine)).parent }
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-confined-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Holds a lease on a file (fcntl(2)): a process that opens the file waits until the standard input of this program ends. */
const LEASING = `#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(int count, char **names) {
  char byte;
  (void)count, signal(SIGIO, SIG_IGN);
  if (fcntl(open(names[1], O_RDWR), F_SETLEASE, F_WRLCK) != 0) return 1;
  return write(1, "leased", 6) != 6 || read(0, &byte, 1) != 0;
}
`

async function lease(file: string): Promise<() => void> {
  const program = join(temporaryFolder(), 'leasing')
  writeFileSync(`${program}.c`, LEASING)
  execFileSync('gcc', ['-o', program, `${program}.c`])
  const holder = spawn(program, [file], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void holder.kill('SIGKILL'))
  const [said] = await once(holder.stdout, 'data')
  expect(String(said)).toBe('leased')
  return () => holder.stdin.end()
}

async function restartedEngine(daemon: Holdfast, before: number): Promise<number> {
  process.kill(before, 'SIGKILL')
  const next = async () => {
    const pid = (await daemon.snapshot())?.pid
    return pid !== undefined && pid !== before ? pid : undefined
  }
  return eventually('another engine', next, within(daemon))
}

describeNetns('the guardian after its start', () => {
  test('confines both threads, and starts the engine again without its filter', async () => {
    const { lab, daemon, engine, guardian } = await startClocked()
    const ours = statusOf('self')
    const confined = { seccomp: '2', gains: '1' }
    const free = { seccomp: ours.seccomp, gains: ours.gains }
    expect(threadsOf(guardian)).toMatchObject([confined, { ...confined, name: 'holdfast-clock' }])
    expect(statusOf(String(engine))).toMatchObject(free)
    expect(statusOf(String(starterOf(guardian)))).toMatchObject(free)
    expect((await daemon.status()).scheduling).toMatchObject({ guardian: { confined: true } })

    const next = await restartedEngine(daemon, engine)
    expect(statusOf(String(next))).toMatchObject({ ...free, parent: guardian })
    expect(lab.holders(LAB_VIP)).toEqual(['r1'])
    expect(daemon.records.filter(({ event }) => event === 'noStarter' || event === 'notConfined')).toEqual([])

    for (const signal of ['SIGTERM', 'SIGQUIT', 'SIGTSTP', 'SIGALRM'] as const)
      process.kill(starterOf(guardian), signal)
    await sleep(200)
    expect(statusOf(String(starterOf(guardian)))).toMatchObject({ state: 'S' })
    process.kill(starterOf(guardian), 'SIGKILL')
    await eventually('the report', () => daemon.records.some(({ event }) => event === 'noStarter'), within(daemon))
    process.kill(next, 'SIGKILL')
    await eventually('the release', () => daemon.records.some(({ event }) => event === 'plansExecuted'), within(daemon))
    expect(lab.holders(LAB_VIP), 'holders after a crash without a starter').toEqual([])
  })

  test('goes on with its duties while the exec of the next engine waits for a disk', async () => {
    const node = join(temporaryFolder(), 'node')
    writeFileSync(node, `#!/bin/sh\nexec '${process.execPath}' "$@"\n`, { mode: 0o755 })
    vi.stubEnv('HOLDFAST_NODE', node)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { lab, daemon, engine } = await startClocked()
    const release = await lease(node)
    process.kill(engine, 'SIGKILL')
    await sleep(1_200)
    expect(lab.holders(LAB_VIP)).toEqual(['r1'])
    // The kernel itself would remove the address, but say nothing to the other routers.
    await eventually('the release', () => daemon.records.some(({ event }) => event === 'plansExecuted'), within(daemon))
    expect(lab.holders(LAB_VIP)).toEqual([])
    release()
    await daemon.becomes('Active', 20_000)
    expect(lab.holders(LAB_VIP)).toEqual(['r1'])
  })

  test('is refused every call outside its lists, and may make the calls inside', () => {
    const folder = temporaryFolder()
    const sources = ['native/fuzz/confined.c', 'native/guardian/confine/filter.c'].map((file) =>
      join(packageRoot(), file),
    )
    execFileSync('gcc', ['-std=gnu11', '-o', join(folder, 'confined'), ...sources])
    const tried = (thread: string) =>
      execFileSync(join(folder, 'confined'), [thread], { encoding: 'utf8' }).trim().split('\n')
    const refused = ['openat', 'execve', 'clone', 'ptrace', 'packet socket', 'executable memory']
    const needed = ['memory', 'udp socket', 'kill']
    expect(tried('executor')).toEqual([
      ...refused.map((call) => `${call} EPERM`),
      ...needed.map((call) => `${call} done`),
    ])
    expect(tried('clock')).toEqual([...refused, ...needed].map((call) => `${call} EPERM`))
  })
})
