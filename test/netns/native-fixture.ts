/**
 * Two namespaces on one cable, and processes in them that are talked to line by line. Decides that all of it has a name
 * of this process and goes away in every exit path. Refuses to know what the processes do.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'

export const NATIVE = join(import.meta.dirname, '..', '..', 'native')
export const GUARDIAN = join(NATIVE, 'prebuilds', `linux-${process.arch}`, 'holdfast-guardian')
export const AGENT = join(import.meta.dirname, 'native-agent.mjs')

/** What it said: one parsed JSON object a line. */
export type Said = Record<string, unknown>
export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

const namespaces = new Set<string>()
const processes = new Set<ChildProcess>()
let count = 0

export function cleanUp(): void {
  for (const child of processes) child.kill('SIGKILL')
  processes.clear()
  for (const name of namespaces) {
    try {
      // Engines that outlived their guardian are nobody's child.
      for (const pid of execFileSync('ip', ['netns', 'pids', name], { encoding: 'utf8' }).split(/\s+/).filter(Boolean))
        process.kill(Number(pid), 'SIGKILL')
    } catch {
      // Ended in between.
    }
    try {
      execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' })
    } catch {
      // Gone already.
    }
  }
  namespaces.clear()
}
process.on('exit', cleanUp)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

export function namespace(): string {
  const name = `hfn${process.pid}n${count++}`
  execFileSync('ip', ['netns', 'add', name])
  namespaces.add(name)
  // Link-local addresses are usable at once: nothing here is about duplicate address detection.
  const quiet = 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad; ip link set lo up'
  execFileSync('ip', ['netns', 'exec', name, 'sh', '-c', quiet])
  return name
}

export function ip(name: string, ...args: readonly string[]): string {
  return execFileSync('ip', ['-n', name, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** eth0 with 198.51.100.1 and fe80::1 on the left, .2 and ::2 on the right. */
export function cable(left: string, right: string): void {
  ip(left, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', right)
  for (const [name, host] of [
    [left, 1],
    [right, 2],
  ] as const) {
    ip(name, 'link', 'set', 'eth0', 'addrgenmode', 'none')
    ip(name, 'link', 'set', 'eth0', 'up')
    ip(name, 'addr', 'add', `198.51.100.${host}/24`, 'dev', 'eth0')
    ip(name, 'addr', 'add', `fe80::${host}/64`, 'dev', 'eth0', 'nodad')
  }
}

export function indexOf(name: string, device: string): number {
  const [link]: { ifindex: number }[] = JSON.parse(ip(name, '-json', 'link', 'show', 'dev', device))
  if (link === undefined) throw new Error(`no ${device} in ${name}`)
  return link.ifindex
}

export class Talker {
  readonly said: Said[] = []
  readonly stderr: string[] = []
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  readonly #what: string

  constructor(name: string, argv: readonly string[]) {
    this.#what = argv.slice(-2).join(' ')
    this.#child = spawn('ip', ['netns', 'exec', name, ...argv], { stdio: ['pipe', 'pipe', 'pipe'] })
    processes.add(this.#child)
    const { stdout, stderr } = this.#child
    if (stdout === null || stderr === null) throw new Error('a process without pipes')
    createInterface({ input: stdout }).on('line', (text) => this.said.push(JSON.parse(text)))
    createInterface({ input: stderr }).on('line', (text) => this.stderr.push(text))
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        processes.delete(this.#child)
        resolve({ code, signal })
      })
    })
  }

  /** `ip netns exec` becomes the program: this is its process. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  tell(line: object | string): void {
    this.#child.stdin?.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
  }

  hush(): void {
    this.#child.stdin?.end()
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async line(expected: string, holds: (line: Said) => boolean, within = 10_000): Promise<Said> {
    const startedAt = monotonicMs()
    for (;;) {
      const found = this.said.find(holds)
      if (found !== undefined) return found
      if (monotonicMs() - startedAt > within) {
        const seen = JSON.stringify(this.said.slice(-5)).slice(-1500)
        throw new Error(
          `${this.#what}: expected ${expected} within ${within} ms; said ${this.said.length} lines, at last ${seen}; stderr ${this.stderr.slice(-3).join(' | ')}`,
        )
      }
      await sleep(2)
    }
  }
}

/** A scenario of native-agent.mjs. */
export function agent(name: string, scenario: string, ...flags: readonly string[]): Talker {
  return new Talker(name, [process.execPath, ...flags, AGENT, scenario])
}

/** The first line of a scenario that has only one thing to say, after it ended well. */
export async function outcome(name: string, scenario: string, ...flags: readonly string[]): Promise<readonly Said[]> {
  const talker = agent(name, scenario, ...flags)
  const { code, signal } = await talker.ended
  if (code !== 0) throw new Error(`${scenario} ended with ${code ?? signal}: ${talker.stderr.slice(-5).join(' | ')}`)
  return talker.said
}
