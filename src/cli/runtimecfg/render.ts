/**
 * `holdfast runtimecfg render`: executes templates with the facts of this node that need no API, as an init container
 * does. This file decides where the results are written, and that a failed template leaves its last result in place.
 */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { basename, extname, join } from 'node:path'
import { EXIT } from '../../app/exit-code.ts'
import { messageOf } from '../../base/message-of.ts'
import { refusedValue } from '../../base/refused-value.ts'
import { clusterNameIn } from '../../cluster/decisions/cluster-name.ts'
import type { CloudBalancers } from '../../cluster/decisions/dns/cloud-balancers.ts'
import { upstreamsIn } from '../../cluster/decisions/dns/upstreams.ts'
import { allVips, type VipPair } from '../../cluster/decisions/engine/vip-pairs.ts'
import { vridsOf } from '../../cluster/decisions/engine/vrid.ts'
import { vrrpInterface } from '../../cluster/decisions/engine/vrrp-interface.ts'
import { type PairFacts, type TemplateFacts, templateData } from '../../cluster/decisions/template-data.ts'
import { serverIn } from '../../cluster/runtime/api/cluster-access.ts'
import { upstreamText } from '../../cluster/runtime/dns/upstream-file.ts'
import { machineWith, textIn } from '../../cluster/runtime/machine.ts'
import { render } from '../../template/render.ts'
import type { Structure } from '../../template/value.ts'
import { parseAddress } from '../../wire/address.ts'
import type { CommandResult } from '../command.ts'
import { readNodeTables } from '../node-tables.ts'
import { displayHelp, type RenderSettings, renderHelp, renderOrder } from './render-flags.ts'

const ENDING = '.tmpl'

export function renderCommand(argv: readonly string[]): CommandResult {
  const order = renderOrder(argv, process.env)
  if (order.do === 'help') return { exitCode: EXIT.ok, stdout: renderHelp(), stderr: '' }
  if (order.do === 'refuse') return { exitCode: EXIT.usage, stdout: '', stderr: lines(order.problems) }
  const { settings, notes } = order
  const facts = factsOf(settings)
  if (typeof facts === 'string') return { exitCode: EXIT.failure, stdout: '', stderr: lines([...notes, facts]) }
  try {
    const folder = settings.outDirectory ?? mkdtempSync(join(tmpdir(), 'runtimecfg'))
    mkdirSync(folder, { recursive: true })
    const data = templateData(facts)
    const results = templatesIn(settings.paths).map((template) => executed(template, folder, data))
    const problems = results.flatMap((result) => ('problem' in result ? result.problem : []))
    return {
      exitCode: problems.length > 0 ? EXIT.failure : EXIT.ok,
      stdout: results.map((result) => ('wrote' in result ? `wrote ${result.wrote}\n` : '')).join(''),
      stderr: lines([...notes, ...problems]),
    }
  } catch (error) {
    return { exitCode: EXIT.failure, stdout: '', stderr: lines([...notes, messageOf(error)]) }
  }
}

/** Prints the data of templates, without a template. */
export function displayCommand(argv: readonly string[]): CommandResult {
  const order = renderOrder(argv, process.env, 'display')
  if (order.do === 'help') return { exitCode: EXIT.ok, stdout: displayHelp(), stderr: '' }
  if (order.do === 'refuse') return { exitCode: EXIT.usage, stdout: '', stderr: lines(order.problems) }
  const facts = factsOf(order.settings)
  if (typeof facts === 'string') return { exitCode: EXIT.failure, stdout: '', stderr: lines([...order.notes, facts]) }
  return {
    exitCode: EXIT.ok,
    stdout: `${JSON.stringify(templateData(facts), undefined, 2)}\n`,
    stderr: lines(order.notes),
  }
}

const lines = (texts: readonly string[]): string => texts.map((text) => `holdfast: ${text}\n`).join('')

/** Returns the templates of a list, or those of the folder if the list has one folder. Throws if a path is no template. */
function templatesIn(paths: readonly string[]): readonly string[] {
  const [first = ''] = paths
  if (paths.length === 1 && statSync(first).isDirectory())
    return readdirSync(first, { withFileTypes: true })
      .filter((entry) => entry.isFile() && extname(entry.name) === ENDING)
      .map(({ name }) => join(first, name))
  const wrong = paths.find((path) => extname(path) !== ENDING)
  if (wrong !== undefined) throw new Error(refusedValue('TEMPLATE', wrong, `a file whose name ends in ${ENDING}`))
  return paths
}

function executed(
  template: string,
  folder: string,
  data: Structure,
): { readonly wrote: string } | { readonly problem: string } {
  const file = join(folder, basename(template, ENDING))
  try {
    const text = render(readFileSync(template, 'utf8'), data)
    const next = `${file}.holdfast-new`
    writeFileSync(next, text)
    // Scripts are executable, as their templates are.
    chmodSync(next, statSync(template).mode & 0o7777)
    renameSync(next, file)
    return { wrote: file }
  } catch (error) {
    return { problem: `${template}: ${messageOf(error)}` }
  }
}

/** Returns the facts of this node, or the reason why they are not complete. */
function factsOf(settings: RenderSettings): TemplateFacts | string {
  const { kubeconfig, clusterConfig: file, pairs } = settings
  const clusterConfig = file === undefined ? undefined : textIn(file)
  if (file !== undefined && clusterConfig === undefined) return `Cannot read the cluster configuration ${file}`
  const named = clusterNameIn({ clusterConfig, server: serverIn({ kubeconfig }) })
  if (typeof named === 'string') return named
  const vrids = vridsOf(named.name)
  if (vrids === undefined) return 'Cannot compute VRIDs: the name of the cluster is empty'
  const placed = settings.cloud.length > 0 ? settings.cloud.map(balanced) : placedPairs(pairs)
  if (typeof placed === 'string') return placed
  const own = placed.flatMap((pair) => parseAddress(pair.own) ?? [])
  const isCloud = settings.cloud.length > 0
  const resolvConf = upstreamText(settings.resolvConf)
  if (resolvConf === undefined) return `Cannot read the DNS servers in ${settings.resolvConf}`
  const { servers } = upstreamsIn(resolvConf, own)
  if (servers.length === 0) return `Cannot find a DNS server in ${settings.resolvConf} except this node itself`
  return {
    clusterName: named.name,
    domain: named.domain ?? '',
    ...{
      vrids,
      platform: settings.platform,
      topology: '',
      controlPlaneNodes: 0,
      unicast: settings.unicast && !isCloud,
    },
    hostname: ((settings.hostnameFile && textIn(settings.hostnameFile)?.trim()) || hostname()).split('.')[0] ?? '',
    ...{ upstreams: servers, ports: isCloud ? NO_PORTS : settings.ports, pairs: placed },
  }
}

/** HAProxy does not run on the nodes of a cloud. */
const NO_PORTS = { api: 0, balancer: 0, statistics: 0 }

const NO_NODES = { backends: [], ingressPeers: [] }
const balanced = (cloud: CloudBalancers): PairFacts => ({
  ...{ api: undefined, ingress: undefined, own: '', interface: '', cloud },
  ...NO_NODES,
})

/** Returns the place of each pair of VIPs on this node, or the reason why one has none. */
function placedPairs(pairs: readonly VipPair[]): readonly PairFacts[] | string {
  const tables = readNodeTables()
  if (tables === undefined) return 'Cannot read links, addresses and routes of this machine'
  const { node, files } = machineWith(tables.view)
  const vips = allVips(pairs)
  const placed: PairFacts[] = []
  for (const { api, ingress } of pairs) {
    const pair = [api, ingress].filter((vip) => vip !== undefined)
    const place = vrrpInterface(node, files, pair, vips)
    if (typeof place === 'string') return place
    placed.push({ ...{ api, ingress }, own: place.source, interface: place.interface, ...NO_NODES })
  }
  return placed
}
