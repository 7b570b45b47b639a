/**
 * Executes the cluster's template of keepalived.conf for this node. The result is refused if holdfast's reader of
 * keepalived's files cannot read it, or if it has other VIPs than the agent decided. A refusal changes nothing on the
 * node. The agent does not guess a text: with another text, the node could leave its VRRP group.
 */
import { messageOf } from '../../../base/message-of.ts'
import { parseKeepalivedConfig } from '../../../config/keepalived/configuration.ts'
import { formatProblem } from '../../../config/problem.ts'
import { render } from '../../../template/render.ts'
import { TemplateError } from '../../../template/template-error.ts'
import { type PairFacts, type TemplateFacts, templateData } from '../template-data.ts'
import type { Desired, Instance } from './desired.ts'
import { keepalivedText } from './keepalived-text.ts'
import { byText } from './peers.ts'
import type { VipPair } from './vip-pairs.ts'
import { type Service, vridsOf } from './vrid.ts'

/** A template, and the facts that are the same for each configuration. */
export type KeepalivedTemplate = Pick<TemplateFacts, 'domain' | 'platform' | 'topology' | 'hostname' | 'ports'> & {
  readonly path: string
  readonly text: string
  readonly pairs: readonly VipPair[]
}

export type RenderedText = { readonly text: string } | { readonly problem: string }

/** Returns the text of keepalived.conf for a configuration, or the reason why the template is refused. */
export function renderedText(desired: Desired, template: KeepalivedTemplate): RenderedText {
  // A node that takes no part has a file without virtual routers. The template has no form of it.
  if (desired.instances.length === 0) return { text: keepalivedText(desired) }
  const refused = (reason: string): RenderedText => ({ problem: `${template.path}: ${reason}` })
  try {
    const text = render(template.text, templateData(factsOf(desired, template)))
    const problem = problemOf(text, desired)
    return problem === undefined ? { text } : refused(problem)
  } catch (error) {
    if (error instanceof TemplateError) return refused(messageOf(error))
    throw error
  }
}

function factsOf({ clusterName, role, instances }: Desired, template: KeepalivedTemplate): TemplateFacts {
  const vridOf = (service: Service) => instances.find((each) => each.service === service)?.vrid
  const byName = vridsOf(clusterName)
  const pairs = template.pairs.map(({ index, api, ingress }): PairFacts => {
    const of = (service: Service) => instances.find((each) => each.index === index && each.service === service)
    const place = of('api') ?? of('ingress')
    // The bootstrap node is no node of the cluster, so its address is not in the list.
    const listed = (service: Service) => groupOf(of(service), role !== 'bootstrap')
    return {
      ...{ api, ingress, own: place?.source ?? '', interface: place?.interface ?? '' },
      backends: listed('api').map((address) => ({ host: '', address })),
      ingressPeers: listed('ingress'),
    }
  })
  return {
    ...template,
    clusterName,
    vrids: { api: vridOf('api') ?? byName?.api ?? 0, ingress: vridOf('ingress') ?? byName?.ingress ?? 0 },
    controlPlaneNodes: 0,
    unicast: instances.some(({ peers }) => peers !== 'multicast'),
    upstreams: [],
    pairs,
  }
}

/** Returns the addresses of a VRRP group with unicast, sorted; empty without unicast or if the node takes no part. */
function groupOf(instance: Instance | undefined, withOwn: boolean): readonly string[] {
  if (instance === undefined || instance.peers === 'multicast') return []
  const { peers, placeholder, source } = instance
  return [...peers, ...(placeholder === undefined ? [] : [placeholder]), ...(withOwn ? [source] : [])].toSorted(byText)
}

/** Returns why a rendered text cannot be used; `undefined` if it can. */
function problemOf(text: string, { instances }: Desired): string | undefined {
  const parsed = parseKeepalivedConfig({ file: 'rendered', text }, () => ({ files: [], unreadable: [] }), {
    configId: '',
    scriptUser: undefined,
    programPath: () => undefined,
    random: () => 0,
  })
  if ('problems' in parsed) {
    const [first] = parsed.problems.filter(({ severity }) => severity === 'error')
    return `cannot use the executed template: ${first === undefined ? 'no configuration' : formatProblem(first)}`
  }
  const found = parsed.config.virtualRouters.flatMap(({ addresses }) => addresses.map((each) => each.address))
  const shown = (addresses: readonly string[]) => addresses.toSorted(byText).join(', ') || 'none'
  const wanted = instances.map(({ vip }) => vip)
  return shown(found) === shown(wanted)
    ? undefined
    : `cannot use the executed template with the VIPs ${shown(found)}, expected ${shown(wanted)}`
}
