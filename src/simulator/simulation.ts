/**
 * Runs a scenario: builds its LAN and nodes, makes its faults, and records which nodes answered for the addresses. A
 * scenario gives the same result on every machine. This file does not judge a result (judge.ts).
 */
import type { Config } from '../config/config.ts'
import { parseConfig } from '../config/text/yaml.ts'
import type { Tape } from '../recording/tape.ts'
import { address } from '../wire/address.ts'
import { hashOf, streamOf } from './chance.ts'
import { inject } from './injection.ts'
import { KeepalivedNode } from './keepalived/keepalived-node.ts'
import type { Without } from './node/engine-life.ts'
import { INDEX } from './node/kernel.ts'
import type { Machine, MachineContext } from './node/machine.ts'
import { SimulatedNode } from './node/node.ts'
import type { Fault, NodeSpec, Scenario } from './scenario.ts'
import { VirtualTime } from './virtual-time.ts'
import { Wire } from './wire.ts'
import { type Moment, Witness } from './witness.ts'

export type Injected = { readonly fault: Fault; readonly at: number; readonly end: number }

/** A scenario whose node configurations have been parsed. */
export type Play = Omit<Scenario, 'nodes'> & {
  readonly nodes: readonly (Omit<NodeSpec, 'config'> & { readonly config: Config; readonly interfaceName: string })[]
}

export type EndStatus = {
  readonly node: string
  readonly router: string
  readonly state: string
  /** Effective priority of the router at the end. */
  readonly priority: number
  readonly addresses: readonly string[]
}

export type Told = {
  readonly moments: ReadonlyMap<string, readonly Moment[]>
  readonly injected: readonly Injected[]
  /** Texts of the exceptions that a simulated engine threw. */
  readonly defects: readonly string[]
  /** State of every virtual router at the end of the simulation. */
  readonly endStatus: readonly EndStatus[]
  /** Texts of the conditions that should hold at the end of the simulation and do not. */
  readonly ends: readonly string[]
  readonly lines: readonly string[]
  /** Hash of all events of the simulation as text, whether the texts are stored or not. */
  readonly digest: string
  readonly ms: number
  /** Number of events that were simulated. */
  readonly steps: number
}
export type Account = Told & { readonly scenario: Scenario }

export function configOf(document: Readonly<Record<string, unknown>>, name: string): Config {
  const parsed = parseConfig(JSON.stringify(document), name)
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ message }) => `${name}: ${message}`).join('\n'))
  return parsed.config
}

/**
 * Options of a simulation. `lines`: events are stored as text. `without`: a safety net (ground rules 2 to 4) that the
 * nodes lack. `tapeOf`: returns the tape that records a run of an engine.
 */
export type SimulateOptions = {
  readonly lines?: boolean
  readonly without?: Without
  readonly tapeOf?: (node: string) => Tape
}

export function simulate(scenario: Scenario, options: SimulateOptions = {}): Account {
  const nodes = scenario.nodes.map((spec) => ({
    ...{ ...spec, config: configOf(spec.config, spec.name), interfaceName: 'eth0' },
  }))
  return { scenario, ...play({ ...scenario, nodes }, options) }
}

export function play(what: Play, options: SimulateOptions = {}): Told {
  return new Simulation(what, options).run()
}

class Simulation {
  readonly #play: Play
  readonly #time = new VirtualTime()
  readonly #wire: Wire
  readonly #nodes: readonly Machine[]
  readonly #witness: Witness
  readonly #injected: Injected[] = []
  readonly #defects: string[] = []
  readonly #lines: string[] = []
  readonly #keeps: boolean
  readonly #without: Without | undefined
  readonly #tapeOf: ((node: string) => Tape) | undefined
  #digest = 0x811c9dc5

  constructor(scenario: Play, { lines = false, tapeOf, without }: SimulateOptions) {
    this.#play = scenario
    this.#keeps = lines
    this.#without = without
    this.#tapeOf = tapeOf
    const { seed } = scenario
    this.#wire = new Wire(this.#time, streamOf(seed, 'wire'), () => this.#witness.notice())
    this.#nodes = scenario.nodes.map((spec, i) => this.#build(spec, i))
    const vips = this.#nodes.flatMap(({ config }) => config.virtualRouters.flatMap((router) => router.addresses))
    const addresses = [...new Set(vips.map((vip) => vip.address))]
    this.#witness = new Witness(
      { time: this.#time, wire: this.#wire, note: (text) => this.#note('client', text) },
      this.#nodes,
      addresses,
    )
  }

  #build(spec: Play['nodes'][number], position: number): Machine {
    const own = spec.addresses.map((text) => {
      const [host = '', bits = '32'] = text.split('/')
      return {
        interfaceIndex: INDEX,
        address: address(host),
        prefixLength: Number(bits),
        tentative: false,
        permanent: true,
      }
    })
    const context: MachineContext = {
      ...{ time: this.#time, wire: this.#wire, own, lateness: this.#play.lateness },
      chance: streamOf(this.#play.seed, spec.name),
      rate: 1 + spec.drift / 1e6,
      config: spec.config,
      interfaceName: spec.interfaceName,
      note: (node, text) => this.#note(node, text),
      onDefect: (node, error) => {
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
        this.#defects.push(`${node} at ${this.#time.now} ms: ${text}`)
      },
      onChange: () => this.#witness.notice(),
    }
    return spec.daemon === 'keepalived'
      ? new KeepalivedNode(spec.name, position, context)
      : new SimulatedNode(spec.name, position, { ...context, without: this.#without, tapeOf: this.#tapeOf })
  }

  run(): Told {
    for (const [i, { startsAt }] of this.#play.nodes.entries()) this.#time.at(startsAt, () => this.#nodes[i]?.start())
    for (const fault of this.#play.faults) this.#time.at(fault.at, () => this.#inject(fault))
    this.#time.run(this.#play.ms)
    const moments = this.#witness.moments
    for (const [vip, seen] of moments)
      for (const { at, holders, served } of seen) this.#hash(`${vip} ${at} ${holders.join()} ${served}`)
    return {
      ...{ moments, injected: this.#injected, defects: this.#defects, lines: this.#lines },
      endStatus: this.#endStatus(),
      ends: this.#ends(),
      digest: this.#digest.toString(16).padStart(8, '0'),
      ms: this.#play.ms,
      steps: this.#time.steps,
    }
  }

  #note(node: string, text: string): void {
    const line = `${this.#time.now.toFixed(3)} ${node} ${text}`
    this.#hash(line)
    if (this.#keeps) this.#lines.push(line)
  }

  #hash(line: string): void {
    this.#digest = hashOf(line, this.#digest)
  }

  #inject(fault: Fault): void {
    const node = this.#nodes.find(({ name }) => name === fault.node)
    this.#note(fault.node ?? 'LAN', `fault: ${fault.kind} for ${fault.ms} ms`)
    const undo = inject(fault, node, { time: this.#time, wire: this.#wire, witness: this.#witness, nodes: this.#nodes })
    const end = this.#time.now + fault.ms
    this.#injected.push({ fault, at: this.#time.now, end })
    if (fault.ms === 0) return undo()
    this.#time.at(end, () => {
      this.#note(fault.node ?? 'LAN', `fault ends: ${fault.kind}`)
      undo()
    })
  }

  #endStatus(): EndStatus[] {
    return this.#nodes.flatMap((node) =>
      (node.routerStatus() ?? []).map(({ addresses, priority, router, state }) => ({
        ...{ node: node.name, router, state, priority, addresses },
      })),
    )
  }

  /** Returns the conditions that each node and its engine do not meet, long after all faults. */
  #ends(): string[] {
    const wrong: string[] = []
    for (const node of this.#nodes) {
      const { kernel, name } = node
      const routers = node.routerStatus()
      if (routers === undefined) wrong.push(`${name} does not run`)
      for (const { router, state, addresses, faults } of routers ?? []) {
        if (state !== 'Active' && state !== 'Backup')
          wrong.push(`${router} of ${name} is ${state} (${faults.join(' ')})`)
        for (const vip of addresses) {
          const here = kernel.has(address(vip))
          if (here !== (state === 'Active'))
            wrong.push(`${router} of ${name} is ${state}, and ${vip} is ${here ? '' : 'not '}there`)
        }
      }
    }
    for (const [vip, seen] of this.#witness.moments) {
      const last = seen.at(-1)
      if (last?.holders.length !== 1)
        wrong.push(`${vip} has ${last?.holders.length} holders: ${last?.holders.join(' ')}`)
      else if (last.served === undefined) wrong.push(`${vip}: its client is misled`)
    }
    return wrong
  }
}
