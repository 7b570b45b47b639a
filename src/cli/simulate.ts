/**
 * `holdfast simulate SCENARIO`: runs this engine on simulated nodes with the user's configurations, and reports what a
 * LAN would have observed (docs/simulate.md). The command reads files and reports their problems. `holdfast simulate`
 * contacts no other host and changes nothing.
 */

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { EXIT } from '../app/exit-code.ts'
import { messageOf } from '../base/message-of.ts'
import { checksOf, nameOf } from '../config/checks.ts'
import type { Config } from '../config/config.ts'
import { configFrom } from '../config/configuration.ts'
import { addressFilesIn, nameOfInterface } from '../config/holding.ts'
import { formatProblem, isError, type Problem, problemAt } from '../config/problem.ts'
import { differencesOf } from '../simulator/differences.ts'
import { type Plan, type PlannedNode, type ReadPlan, readPlan } from '../simulator/plan.ts'
import { type Report, reportOf, reportText } from '../simulator/report.ts'
import { servicesOf } from '../simulator/services.ts'
import { type Play, play, type Told } from '../simulator/simulation.ts'
import { studyWeights } from '../simulator/weights.ts'
import { familyOf } from '../wire/address.ts'
import { loadWritten } from './check.ts'
import type { CommandResult } from './command.ts'

export type SimulateOptions = {
  readonly json?: boolean
  /** True if every line that the simulated engines log is printed, too. */
  readonly log?: boolean
  /** True if the exit status is 1 when the failure of a health check would not move the VIP to another node. */
  readonly expect?: boolean
  /** False if the user gave --no-weights. */
  readonly weights?: boolean
}

/** Name of the interface on a simulated node if the configuration names no interface. */
const INTERFACE = 'eth0'
/** Milliseconds after the last fault until all its consequences are over. */
const AFTERWARDS = 20_000
const INTERVALS = 8

/**
 * Runs a scenario. The exit status is 1 if an expectation does not hold, the end state is wrong, or an engine threw.
 */
export function simulateCommand(file: string, options: SimulateOptions = {}): CommandResult {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const why = messageOf(error)
    return { exitCode: EXIT.configuration, stdout: '', stderr: `holdfast: Cannot read ${file}: ${why}\n` }
  }
  const read = readPlan(text, file)
  if ('problems' in read) return refused(read.problems)
  const { notes, problems, what } = playOf(read, file)
  if (problems.some(isError)) return refused(problems)
  const result = play(what, { lines: options.log === true })
  const weights = options.weights === false ? undefined : studyWeights(what)
  const expected = { outage: read.plan.outage, moves: options.expect === true }
  const report = reportOf(result, differencesOf(what.nodes), weights, { serviceOf: servicesOf(what.nodes), expected })
  const exitCode = report.failures.length > 0 ? EXIT.failure : EXIT.ok
  if (options.json === true)
    return { exitCode, stdout: `${JSON.stringify(asJson(what, result, report), null, 2)}\n`, stderr: '' }
  const log = options.log === true ? [...result.lines.map((line) => `${line}\n`), '\n'].join('') : ''
  const shown = notes.map((note) => `${note}\n`).join('')
  return { exitCode, stdout: `${log}${reportText(report, what, result.injected, weights?.tried ?? 0)}`, stderr: shown }
}

const refused = (problems: readonly Problem[]): CommandResult => ({
  ...{ exitCode: EXIT.configuration, stdout: '' },
  stderr: problems.map((problem) => `${formatProblem(problem)}\n`).join(''),
})

const asJson = ({ nodes, seed }: Play, { injected, endStatus }: Told, report: Report) => ({
  ...{ seed, ms: report.ms, nodes: nodes.map(({ name }) => name) },
  keepalived: nodes.filter(({ daemon }) => daemon === 'keepalived').map(({ name }) => name),
  faults: injected.map(({ at, end, fault }) => ({ ...fault, at, end })),
  addresses: report.addresses,
  end: endStatus,
  warnings: report.warnings,
  defects: report.defects,
  failures: report.failures,
})

type Read = Extract<ReadPlan, { readonly plan: Plan }>
type Loaded = { readonly what: Play; readonly problems: readonly Problem[]; readonly notes: readonly string[] }

function playOf({ locate, plan }: Read, file: string): Loaded {
  const problems: Problem[] = []
  const notes: string[] = []
  const nodes = plan.nodes.flatMap((node, i) => {
    const at = (message: string) => problems.push(problemAt(locate, ['nodes', i, 'configuration'], 'error', message))
    const loaded = configOf({ locate, plan }, node, i, file)
    if ('problems' in loaded) {
      problems.push(...loaded.problems)
      return []
    }
    notes.push(...loaded.warnings.map(formatProblem))
    const { config } = loaded
    const names = new Set(config.virtualRouters.map((router) => nameOfInterface(router) ?? INTERFACE))
    const on = config.virtualRouters.flatMap(({ addresses }) => addresses.flatMap((each) => each.interface ?? []))
    if (new Set([...names, ...on]).size > 1)
      at(
        `Cannot simulate ${node.name}: it uses several interfaces (${[...new Set([...names, ...on])].join(', ')}), but a simulation has one LAN`,
      )
    if (addressFilesIn(config).length > 0)
      at(
        `Cannot simulate ${node.name}: interface: { holding: FILE } reads a file of that node; write the address instead`,
      )
    for (const [j, { checks, node: name }] of plan.faults.entries())
      if (name === node.name)
        for (const check of checks ?? [])
          if (!checksOf(config).some((one) => one.kind === 'probe' && nameOf(one) === check))
            problems.push(
              problemAt(locate, ['faults', j, 'checks'], 'error', `Cannot find the check "${check}" of ${node.name}`),
            )
    if (node.daemon === 'keepalived' && config.virtualRouters.length === 0)
      at(`Cannot run keepalived on ${node.name}: there is no vrrp_instance in its file`)
    if (node.daemon === 'keepalived')
      for (const { fault, name } of config.virtualRouters)
        if (fault !== undefined) at(`Cannot simulate "${name}" of ${node.name}: ${fault}`)
    const { addresses, daemon, drift, name, startsAt } = node
    const own = [...addresses, ...linkLocalOf(node, config, i)]
    return [{ name, daemon, addresses: own, drift, startsAt, config, interfaceName: [...names][0] ?? INTERFACE }]
  })
  const last = Math.max(0, ...plan.faults.map(({ at, ms }) => at + ms), ...plan.nodes.map(({ startsAt }) => startsAt))
  const slowest = Math.max(
    0,
    ...nodes.flatMap(({ config }) => config.virtualRouters.map((each) => each.advertisementInterval)),
  )
  const { faults, lateness, ms = last + AFTERWARDS + INTERVALS * slowest, seed } = plan
  return { what: { seed, lateness, nodes, faults, ms }, problems, notes }
}

/**
 * Returns a link-local address for a simulated node, because every IPv6 interface has one, unless the scenario lists
 * one.
 */
function linkLocalOf({ addresses }: PlannedNode, { virtualRouters }: Config, position: number): readonly string[] {
  const vips = virtualRouters.flatMap((router) => [...router.addresses, ...router.excludedAddresses])
  const isIpv6 =
    addresses.some((each) => each.includes(':')) || vips.some(({ address }) => familyOf(address) === 'ipv6')
  if (!isIpv6 || addresses.some((each) => /^fe[89ab]/i.test(each))) return []
  return [`fe80::5054:ff:fe00:${(position + 1).toString(16)}/64`]
}

type Configured =
  | { readonly config: Config; readonly warnings: readonly Problem[] }
  | { readonly problems: readonly Problem[] }

/**
 * Loads the configuration of a simulated node: a file beside the scenario in YAML or in keepalived's language, or the
 * YAML in the scenario.
 */
function configOf({ locate }: Read, node: PlannedNode, position: number, scenario: string): Configured {
  const { configuration, daemon } = node
  if (typeof configuration === 'string')
    return loadWritten(resolve(dirname(scenario), configuration), daemon === 'keepalived')
  return configFrom({
    ...{ value: configuration, problems: [], wellFormed: true },
    locate: (path, at) => locate(['nodes', position, 'configuration', ...path], at),
  })
}
