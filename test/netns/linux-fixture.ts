/**
 * Two namespaces joined by one veth pair, both ends called eth0, and an agent in each (linux-agent.ts). Everything has a
 * name of this process and goes away with it, on failure and on a signal as well.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe } from 'vitest'
import type {
  AddressOutcome,
  AddressStep,
  AdvertisementSocketOptions,
  CleanupPlan,
  DrainResult,
  Failure,
  Link,
  NeighborResolution,
  NetworkEvent,
  PresentAddress,
  ReceivedPacket,
  SendOutcome,
} from '../../src/daemon/ports.ts'
import type { Address } from '../../src/wire/address.ts'

export type AgentPacket = Omit<ReceivedPacket, 'bytes'> & { readonly bytes: string }
export type AgentDatagram = { readonly destination: Address; readonly bytes: string; readonly ttl?: number }
export type Opened = { readonly socket?: number; readonly failure?: Failure }
type AdvertOptions = Omit<AdvertisementSocketOptions, 'onReadable' | 'onFailure' | 'group'> & {
  readonly group?: Address
}
/** A last will whose datagrams are hexadecimal text. */
export type AgentWill = Omit<CleanupPlan, 'packets'> & {
  readonly packets: readonly (Omit<CleanupPlan['packets'][number], 'datagrams'> & {
    readonly datagrams: readonly AgentDatagram[]
  })[]
}
export type HeardNeighbor = { readonly address: Address; readonly resolution: NeighborResolution }
type FrameOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  /** Once: closed by its first frame. */
  readonly hears: 'nothing' | 'answers' | 'claims' | 'once'
  readonly family?: 'ipv4' | 'ipv6'
}

export type AgentCalls = {
  links(): readonly Link[]
  addresses(): readonly PresentAddress[]
  apply(steps: readonly AddressStep[]): readonly AddressOutcome[]
  watch(): void
  openAdvert(options: AdvertOptions): Opened
  send(socket: number, datagrams: readonly AgentDatagram[]): readonly SendOutcome[]
  flood(socket: number, destination: Address, count: number, bytes: string): number
  drain(
    socket: number,
    maxBatches: number,
    keep?: number,
  ): DrainResult & { readonly kept: readonly AgentPacket[]; readonly now: number }
  join(socket: number, group: Address): Failure | 'joined'
  closeAdvert(socket: number): void
  openFrames(options: FrameOptions): Opened
  watchNeighbors(interfaceIndex: number, family: 'ipv4' | 'ipv6'): Failure | undefined
  sendFrames(socket: number, frames: readonly string[]): readonly SendOutcome[]
  arm(will: AgentWill): void
  withdraw(unit: number): void
  armed(): boolean
  die(): void
  block(ms: number): void
  memory(): number
  now(): number
}
export type AgentCall = { readonly id: number; readonly method: keyof AgentCalls; readonly args: never[] }
type AgentLine = {
  readonly id?: number
  readonly error?: string
  readonly ready?: boolean
  readonly event?: NetworkEvent
  readonly failure?: Failure
  readonly frame?: string
  readonly neighbor?: HeardNeighbor
  readonly readable?: boolean
}

const root = process.getuid?.() === 0
/** Without root these tests cannot run; REQUIRE_NETNS=1 makes that a failure instead of silence. */
export const describeNetns = describe.skipIf(!root && process.env.REQUIRE_NETNS !== '1')

const RUNNER = `
  const { runnerImport } = await import('vite')
  await runnerImport(process.argv[1], { configFile: false, logLevel: 'error' })
`

let names = 0
const alive = new Set<string>()
const children = new Set<ChildProcess>()

function sweep(): void {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  for (const name of alive) {
    try {
      execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' })
    } catch {
      // Gone already.
    }
  }
  alive.clear()
}
process.on('exit', sweep)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

export class Agent {
  readonly events: NetworkEvent[] = []
  readonly failures: Failure[] = []
  readonly frames: string[] = []
  readonly neighbors: HeardNeighbor[] = []
  readonly #child: ChildProcess
  readonly #answers = new Map<number, (text: string) => void>()
  readonly #ready: Promise<void>
  #calls = 0
  readable = 0

  constructor(namespace: string, wrap: readonly string[] = []) {
    const script = join(import.meta.dirname, 'linux-agent.ts')
    const node = [process.execPath, '--input-type=module', '-e', RUNNER, script]
    this.#child = spawn('ip', ['netns', 'exec', namespace, ...wrap, ...node], {
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: join(import.meta.dirname, '..', '..'),
    })
    children.add(this.#child)
    const { stdout } = this.#child
    if (stdout === null) throw new Error('agent without stdout')
    this.#ready = new Promise((resolve, reject) => {
      this.#child.once('exit', (code, signal) => {
        reject(new Error(`agent in ${namespace} ended: ${code ?? signal}`))
        for (const answer of this.#answers.values()) answer(JSON.stringify({ error: `agent ended: ${code ?? signal}` }))
      })
      createInterface({ input: stdout }).on('line', (text) => {
        const line: AgentLine = JSON.parse(text)
        if (line.ready) resolve()
        if (line.event !== undefined) this.events.push(line.event)
        if (line.failure !== undefined) this.failures.push(line.failure)
        if (line.frame !== undefined) this.frames.push(line.frame)
        if (line.neighbor !== undefined) this.neighbors.push(line.neighbor)
        if (line.readable) this.readable++
        if (line.id !== undefined) this.#answers.get(line.id)?.(text)
      })
    })
  }

  async call<M extends keyof AgentCalls>(
    method: M,
    ...args: Parameters<AgentCalls[M]>
  ): Promise<ReturnType<AgentCalls[M]>> {
    await this.#ready
    const id = ++this.#calls
    const text = await new Promise<string>((resolve) => {
      this.#answers.set(id, resolve)
      this.#child.stdin?.write(`${JSON.stringify({ id, method, args })}\n`)
    })
    this.#answers.delete(id)
    const { result, error }: { result: ReturnType<AgentCalls[M]>; error?: string } = JSON.parse(text)
    if (error !== undefined) throw new Error(`${method}: ${error}`)
    return result
  }

  /** The index of a socket that must open. */
  async open(options: AdvertOptions): Promise<number> {
    const { socket, failure } = await this.call('openAdvert', options)
    if (socket === undefined) throw new Error(failure?.message ?? 'neither socket nor failure')
    return socket
  }

  stop(): void {
    this.#child.kill('SIGKILL')
    children.delete(this.#child)
  }
}

/** ip(8) inside the namespace; what it printed. */
export function ip(namespace: string, ...args: string[]): string {
  return execFileSync('ip', ['-n', namespace, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

export function run(namespace: string, ...argv: string[]): string {
  return execFileSync('ip', ['netns', 'exec', namespace, ...argv], { encoding: 'utf8' })
}

export function makeNamespace(): string {
  const name = `hfl${process.pid}n${names++}`
  execFileSync('ip', ['netns', 'add', name])
  alive.add(name)
  // Link-local addresses are usable at once: what is waited for here is never duplicate address detection.
  run(name, 'sh', '-c', 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad; ip link set lo up')
  return name
}

/** 198.51.100.1/24 and fe80::1 on the left, .2 and ::2 on the right; the interface index is 7 on both sides. */
export function join2(left: string, right: string): void {
  ip(left, 'link', 'add', 'eth0', 'index', '7', 'type', 'veth', 'peer', 'name', 'eth0', 'index', '7', 'netns', right)
  for (const [name, host] of [
    [left, 1],
    [right, 2],
  ] as const) {
    ip(name, 'addr', 'add', `198.51.100.${host}/24`, 'dev', 'eth0')
    ip(name, 'link', 'set', 'eth0', 'addrgenmode', 'none')
    ip(name, 'link', 'set', 'eth0', 'up')
    ip(name, 'addr', 'add', `fe80::${host}/64`, 'dev', 'eth0', 'nodad')
  }
}

export function removeAll(): void {
  sweep()
}

/** Polls until it holds; the last value is part of the failure. */
export async function until<T>(what: string, look: () => T | Promise<T>, holds: (value: T) => boolean): Promise<T> {
  const limit = Date.now() + 3000
  for (;;) {
    const value = await look()
    if (holds(value)) return value
    if (Date.now() > limit) throw new Error(`not within 3 s: ${what}; last seen: ${JSON.stringify(value).slice(-1000)}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
