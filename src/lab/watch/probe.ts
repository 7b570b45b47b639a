/**
 * Observes the LAN as a client: the program holdfast-probe (native/probe) on a host of the demo's network sends a probe
 * to the virtual address once a millisecond. This file decides how the program's JSON lines become values, and which
 * figures describe a failover. This file does not know the daemons. All times are CLOCK_MONOTONIC in ms, which all
 * namespaces share.
 */
import type { ChildProcess } from 'node:child_process'
import { probePath } from '../installation.ts'
import type { Site } from '../namespaces.ts'
import type { Host } from '../network.ts'
import { eventually } from '../wait.ts'

export const PROBE_PORT = 7007

export type HolderChange = { readonly at: number; readonly name: string }
/**
 * A change of the answering node, with the sequence number of the probe that was answered. A late answer to an early
 * probe is no news.
 */
type AnsweredChange = HolderChange & { readonly sequence: number }
/** A time without an answer. `lost`: number of probes in that time that were never answered. */
export type Gap = { readonly from: number; readonly to: number; readonly lost: number }
export type ProbeSummary = {
  readonly sent: number
  readonly received: number
  readonly lost: number
  readonly duplicates: number
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(line: string): Fields {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

export function numberOf(fields: Fields, name: string): number {
  const value = fields[name]
  return typeof value === 'number' ? value : Number.NaN
}

/** A running holdfast-probe program. The probe object passes on the fields of each line that the program prints. */
export class ProbeProcess {
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  #complaint = ''

  constructor(site: Site, host: Host | string, argv: readonly string[], take: (fields: Fields) => void) {
    this.#child = site.spawn(host, [probePath(), ...argv])
    let rest = ''
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) take(fieldsOf(line))
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#complaint += chunk
    })
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', () => resolve())
      this.#child.once('error', () => resolve())
    })
  }

  /** Text that describes why the program fails: its standard error, and whether it still runs. */
  get complaint(): string {
    return this.#complaint.trim()
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#ended
  }
}

/** Starts a service that answers every probe with the host's name, from the address to which the probe was sent. */
export function startResponder(site: Site, host: Host): ProbeProcess {
  return new ProbeProcess(site, host, ['respond', host.name, String(PROBE_PORT), '--fifo'], () => {})
}

export class Prober {
  readonly address: string
  readonly holders: AnsweredChange[] = []
  readonly gaps: Gap[] = []
  readonly #process: ProbeProcess
  #summary: ProbeSummary | undefined

  /** Sends one probe a millisecond to `address`, until stop() is called. */
  constructor(site: Site, host: Host | string, address: string) {
    this.address = address
    const argv = ['probe', address, String(PROBE_PORT), '--interval-us', '1000', '--fifo']
    this.#process = new ProbeProcess(site, host, argv, (fields) => this.#take(fields))
  }

  #take(fields: Fields): void {
    if (fields.event === 'holder') {
      const sequence = numberOf(fields, 'seq')
      this.holders.push({ at: numberOf(fields, 't'), name: String(fields.name), sequence })
    }
    if (fields.event === 'gap') {
      this.gaps.push({ from: numberOf(fields, 'from'), to: numberOf(fields, 'to'), lost: numberOf(fields, 'lost') })
    }
    if (fields.event === 'summary') {
      const count = (name: string) => numberOf(fields, name)
      this.#summary = {
        sent: count('sent'),
        received: count('received'),
        lost: count('lost'),
        duplicates: count('duplicates'),
      }
    }
  }

  /** Name of the node that answered the last probe; `undefined` before the first answer. */
  get holder(): string | undefined {
    return this.holders.at(-1)?.name
  }

  /** Resolves when the host `name` answers the probes. Throws after `within` ms. */
  async answeredBy(name: string, within = 10_000): Promise<void> {
    const sight = () => this.holders.slice(-5)
    await eventually(`${name} to answer for ${this.address}`, () => this.holder === name, { sight, within })
  }

  /**
   * Returns the first change, at or after the time `at`, to another node than `before`; `undefined` if there is none.
   */
  movedFrom(before: string, at: number): HolderChange | undefined {
    return this.holders.find((change) => change.at >= at && change.name !== before)
  }

  /**
   * Returns the longest time without an answer that overlaps the window, in ms; 0 if fewer than 3 probes in a row were
   * lost.
   */
  longestGap(from: number, to: number): number {
    return Math.max(0, ...this.gaps.filter((gap) => gap.to >= from && gap.from <= to).map((gap) => gap.to - gap.from))
  }

  async stop(): Promise<ProbeSummary> {
    await this.#process.stop()
    if (this.#summary === undefined)
      throw new Error(`Cannot read the probe's summary: ${this.#process.complaint || 'it said nothing'}`)
    return this.#summary
  }
}
