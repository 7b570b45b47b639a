/**
 * The command line and environment of `holdfast operator`. This file decides that all invalid values are reported
 * together. Pure: arguments in, settings or problems out.
 */
import { VERSION } from '../../app/version.ts'
import { refusedValue } from '../../base/refused-value.ts'
import type { OperandImages } from '../../cluster/decisions/operator/operands.ts'
import { OPERATOR_NAMESPACE, type OperatorSettings } from '../../cluster/decisions/operator/operator-settings.ts'
import { type AgentFlag, flagLines, givenFlags } from '../agent/agent-flag-list.ts'
import { type AgentEnvironment, AgentValues } from '../agent/agent-values.ts'

export type OperatorOrder =
  | { readonly do: 'run'; readonly settings: OperatorSettings }
  | { readonly do: 'help' }
  | { readonly do: 'refuse'; readonly problems: readonly string[] }

const FLAGS: readonly AgentFlag[] = [
  {
    long: 'namespace',
    value: 'wanted',
    says: `namespace of the Lease (default: POD_NAMESPACE, otherwise ${OPERATOR_NAMESPACE})`,
  },
  {
    long: 'release-version',
    value: 'wanted',
    says: "version in ClusterOperator (default: RELEASE_VERSION, otherwise holdfast's version)",
  },
  { long: 'api-port', value: 'wanted', says: 'port of the API behind its VIPs (default: 6443)' },
  {
    long: 'grace-period',
    value: 'wanted',
    says: 'time for which clients may use the old address of a load balancer (default: 5m)',
  },
  {
    long: 'place-operands',
    says: 'write HAProxy and CoreDNS to the nodes by MachineConfigs (needs the images in the environment)',
  },
  { long: 'listen', value: 'wanted', says: 'ADDRESS:PORT for /metrics and /healthz (default: none)' },
  {
    long: 'log-format',
    value: 'wanted',
    says: 'json, text or journald (default: journald for the systemd journal, otherwise text)',
  },
  { long: 'json', says: 'same as --log-format=json' },
  { short: 'h', long: 'help', says: 'print this help' },
]

/** Default grace period in milliseconds: longer than a DNS client keeps `api-int`, whose records live for 60 s. */
const GRACE = 300_000

/** Returns what to do. `hostname`: name of this machine or pod. */
export function operatorOrder(argv: readonly string[], environment: AgentEnvironment, hostname: string): OperatorOrder {
  const read = givenFlags(argv, FLAGS)
  if (typeof read === 'string') return { do: 'refuse', problems: [read] }
  if (read.flags.some(({ flag }) => flag.long === 'help')) return { do: 'help' }
  const values = new AgentValues(read.flags)
  const [kubeconfig, ...further] = read.positional
  if (further.length > 0)
    values.problem(`arguments: cannot use ${JSON.stringify(further.join(' '))}, expected KUBECONFIG or nothing`)
  const settings: OperatorSettings = {
    kubeconfig: values.path(kubeconfig, 'KUBECONFIG'),
    namespace: namespaceIn(values, environment),
    version: values.last('release-version') || environment.RELEASE_VERSION || VERSION,
    apiPort: values.whole('api-port', 1, 65_535) ?? 6443,
    images: values.has('place-operands') ? imagesIn(values, environment) : undefined,
    graceMs: values.duration('grace-period') ?? GRACE,
    name: hostname,
    listen: values.listen(),
    logFormat: values.logFormat(),
  }
  return values.problems.length > 0 ? { do: 'refuse', problems: values.problems } : { do: 'run', settings }
}

/** Environment variables with the images, by the name of an image in deploy. */
const IMAGES = {
  holdfast: 'HOLDFAST_IMAGE',
  'holdfast-openshift': 'HOLDFAST_OPENSHIFT_IMAGE',
  coredns: 'COREDNS_IMAGE',
} as const satisfies Readonly<Record<keyof OperandImages, string>>

function imagesIn(values: AgentValues, environment: AgentEnvironment): OperandImages {
  const image = (name: keyof OperandImages): string => {
    const text = environment[IMAGES[name]] ?? ''
    if (!/^[\w.:/@-]{1,500}$/.test(text))
      values.problem(refusedValue(`environment variable ${IMAGES[name]}`, text || undefined, 'the name of an image'))
    return text
  }
  return { holdfast: image('holdfast'), 'holdfast-openshift': image('holdfast-openshift'), coredns: image('coredns') }
}

function namespaceIn(values: AgentValues, environment: AgentEnvironment): string {
  const given = values.last('namespace')
  const text = given ?? (environment.POD_NAMESPACE || OPERATOR_NAMESPACE)
  if (!/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(text))
    values.problem(
      refusedValue(
        given === undefined ? 'environment variable POD_NAMESPACE' : '--namespace',
        text,
        'the name of a namespace: up to 63 small letters, digits and "-"',
      ),
    )
  return text
}

export const operatorHelp = (): string =>
  `Usage: holdfast operator [KUBECONFIG] FLAGS\n\nWithout KUBECONFIG the token of the pod is used.\n\n${flagLines(FLAGS)}\nEnvironment: POD_NAMESPACE, RELEASE_VERSION; with --place-operands ${Object.values(IMAGES).join(', ')}.\nExit status: 0 ok, 1 failure, 64 usage (reports every invalid value).\n`
