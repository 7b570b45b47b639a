/** Starts an agent in a namespace that runs the adapters of src/linux (linux-agent.ts), and sends orders to the agent. */
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
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
  RepetitionOrder,
  Repetitions,
  SendOutcome,
} from '../../src/daemon/ports.ts'
import { namespaces } from '../../src/lab/cable.ts'
import { JsonProcess, type Said } from '../../src/lab/json-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import type { Address } from '../../src/wire/address.ts'

export type AgentPacket = Omit<ReceivedPacket, 'bytes'> & { readonly bytes: string }
export type AgentDatagram = { readonly destination: Address; readonly bytes: string; readonly ttl?: number }
export type Opened = { readonly socket?: number; readonly failure?: Failure }
type AdvertOptions = Omit<AdvertisementSocketOptions, 'onOverdue' | 'onReadable' | 'onFailure' | 'group'> & {
  readonly group?: Address
}
/** An order whose packet is hexadecimal text, and that ends never unless it says so. */
export type AgentRepetition = Omit<RepetitionOrder, 'bytes' | 'until'> & {
  readonly bytes: string
  readonly until?: number
}
/** A cleanup plan whose datagrams are hexadecimal text. */
export type AgentPlan = Omit<CleanupPlan, 'packets'> & {
  readonly packets: readonly (Omit<CleanupPlan['packets'][number], 'datagrams'> & {
    readonly datagrams: readonly AgentDatagram[]
  })[]
}
export type HeardNeighbor = { readonly address: Address; readonly resolution: NeighborResolution }
type FrameOptions = {
  readonly interfaceIndex: number
  readonly interfaceName: string
  /** Frames that wake the socket. `once`: the first frame closes the socket. */
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
  watchRepeated(socket: number, order: AgentRepetition): boolean | undefined
  readRepeated(socket: number, vrid: number): Repetitions | undefined | null
  /** Number of times that packets have woken the agent. */
  wakeUps(): number
  /** Returns how often the main thread has slept since its start. */
  sleeps(): number
  endRepeated(socket: number, vrid: number): void
  join(socket: number, group: Address): Failure | 'joined'
  closeAdvert(socket: number): void
  openFrames(options: FrameOptions): Opened
  expectAnswer(socket: number, from: Address, answer: string, within: number): void
  answeredAt(socket: number, from: Address): number | undefined
  watchNeighbors(interfaceIndex: number, family: 'ipv4' | 'ipv6'): Failure | undefined
  sendFrames(socket: number, frames: readonly string[]): readonly SendOutcome[]
  arm(plan: AgentPlan): void
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
  readonly overdue?: number
}

const RUNNER = `
  const { runnerImport } = await import('vite')
  await runnerImport(process.argv[1], { configFile: false, logLevel: 'error' })
`
const SCRIPT = join(import.meta.dirname, 'linux-agent.ts')

/** Returns the command that runs a source file of these tests as a program, before a build. */
export const runSource = (script: string): readonly string[] => [
  process.execPath,
  '--input-type=module',
  '-e',
  RUNNER,
  script,
]

export class Agent {
  readonly events: NetworkEvent[] = []
  readonly failures: Failure[] = []
  readonly frames: string[] = []
  readonly neighbors: HeardNeighbor[] = []
  /** Times in ms at which a watched packet was missing. */
  readonly overdue: number[] = []
  readonly #process: JsonProcess
  readonly #answers = new Map<number, (line: Said) => void>()
  readonly #ready: Promise<unknown>
  #calls = 0
  #ended = false
  readable = 0

  constructor(namespace: string, wrap: readonly string[] = []) {
    this.#process = new JsonProcess(namespaces(), namespace, [...wrap, ...runSource(SCRIPT)], (line) =>
      this.#take(line),
    )
    this.#ready = this.#process.line('ready', ({ ready }) => ready === true, 30_000)
    // The first caller of the agent gets the error of its start.
    this.#ready.catch(() => {})
    void this.#process.ended.then(({ code, signal }) => {
      this.#ended = true
      for (const answer of this.#answers.values()) answer({ error: `agent ended: ${code ?? signal}` })
    })
  }

  #take(line: Said): void {
    const { event, failure, frame, id, neighbor, overdue, readable }: AgentLine = line
    if (event !== undefined) this.events.push(event)
    if (failure !== undefined) this.failures.push(failure)
    if (frame !== undefined) this.frames.push(frame)
    if (neighbor !== undefined) this.neighbors.push(neighbor)
    if (readable) this.readable++
    if (overdue !== undefined) this.overdue.push(overdue)
    if (id !== undefined) this.#answers.get(id)?.(line)
  }

  async call<M extends keyof AgentCalls>(
    method: M,
    ...args: Parameters<AgentCalls[M]>
  ): Promise<ReturnType<AgentCalls[M]>> {
    await this.#ready
    const id = ++this.#calls
    const answer = await new Promise<Said>((resolve) => {
      this.#answers.set(id, resolve)
      this.#process.tell({ id, method, args })
    })
    this.#answers.delete(id)
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error}`)
    return answer.result as ReturnType<AgentCalls[M]>
  }

  /** Opens a socket. Returns its index, or throws if the socket does not open. The socket is closed when the test ends. */
  async open(options: AdvertOptions): Promise<number> {
    const { socket, failure } = await this.call('openAdvert', options)
    if (socket === undefined) throw new Error(failure?.message ?? 'neither socket nor failure')
    onTestFinished(async () => {
      if (!this.#ended) await this.call('closeAdvert', socket)
    })
    return socket
  }

  stop(): void {
    this.#ended = true
    this.#process.signal('SIGKILL')
  }

  /** Polls until the condition holds. The error contains the last value. */
  frozen(meanwhile: () => void): void {
    this.#process.signal('SIGSTOP')
    try {
      meanwhile()
    } finally {
      this.#process.signal('SIGCONT')
    }
  }
}

/**
 * Resolves with the first value for which the condition holds. `look` returns the value, or is a list that grows. The error after 20 s has
 * the last value.
 */
export async function until<T>(
  what: string,
  look: (() => T | Promise<T>) | (T & readonly unknown[]),
  holds: (value: T) => boolean,
): Promise<T> {
  const seen: T[] = []
  const found = async () => {
    seen[0] = typeof look === 'function' ? await look() : look
    return holds(seen[0])
  }
  await eventually(what, found, { sight: () => JSON.stringify(seen[0]).slice(-1000), within: 20_000 })
  return seen[0] as T
}
