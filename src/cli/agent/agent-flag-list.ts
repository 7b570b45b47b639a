/**
 * The flags of the agent's command line: dynkeepalived's, then holdfast's own. This file decides the list of flags, and
 * how arguments are parsed (as in Go's pflag: --flag=value, --flag value, -cVALUE, with positional arguments in
 * between). Values are not checked here.
 */

export type AgentFlag = {
  readonly short?: string
  readonly long: string
  /**
   * `wanted`: the flag needs a value. `maybe`: the value is in the same argument (`--flag=VALUE`), or in the next
   * argument if that is one of the known values of the flag.
   */
  readonly value?: 'wanted' | 'maybe'
  readonly says: string
}
export type Given = { readonly flag: AgentFlag; readonly value: string | undefined }
export type GivenFlags = { readonly flags: readonly Given[]; readonly positional: readonly string[] }

const MAYBE_VALUES = ['yaml', 'keepalived', 'both']

/** Flags of runtimecfg for clouds whose DNS service the cluster does not use. */
export const CLOUD_FLAG_LIST: readonly AgentFlag[] = [
  {
    long: 'cloud-ext-lb-ips',
    value: 'wanted',
    says: 'external load balancers of the API, with --platform AWS, Azure or GCP',
  },
  { long: 'cloud-int-lb-ips', value: 'wanted', says: 'internal load balancers of the API, in the place of VIPs' },
  { long: 'cloud-ingress-lb-ips', value: 'wanted', says: 'load balancers of ingress, in the place of VIPs' },
]

export const AGENT_FLAGS: readonly AgentFlag[] = [
  { long: 'api-vips', value: 'wanted', says: 'VIPs of the API, separated by commas: one, or one for each family' },
  { long: 'ingress-vips', value: 'wanted', says: 'VIPs of ingress, in the same order' },
  { long: 'api-vip', value: 'wanted', says: 'older form of --api-vips with one VIP' },
  { long: 'ingress-vip', value: 'wanted', says: 'older form of --ingress-vips with one VIP' },
  { long: 'dns-vip', value: 'wanted', says: 'without effect' },
  { long: 'api-port', value: 'wanted', says: 'port of the API (default: 6443)' },
  { long: 'lb-port', value: 'wanted', says: 'port to which nftables redirects the API (default: 9445)' },
  { long: 'check-interval', value: 'wanted', says: 'interval of the checks of this node (default: 10s)' },
  {
    short: 'c',
    long: 'cluster-config',
    value: 'wanted',
    says: 'file with the install-config, on a bootstrap node',
  },
  { short: 'p', long: 'platform', value: 'wanted', says: 'platform, as in the Infrastructure resource' },
  { long: 'control-plane-topology', value: 'wanted', says: 'topology, as in the Infrastructure resource' },
  { long: 'name', value: 'wanted', says: 'name of the cluster, in place of the name in cluster-config or kubeconfig' },
  {
    long: 'api-vrid',
    value: 'wanted',
    says: 'VRID of the API, in place of the VRID that the name of the cluster gives',
  },
  {
    long: 'ingress-vrid',
    value: 'wanted',
    says: 'VRID of ingress, in place of the VRID that the name of the cluster gives',
  },
  {
    long: 'engine-socket',
    value: 'wanted',
    says: 'control socket of the engine (default: /run/holdfast/holdfast.sock)',
  },
  {
    long: 'state-dir',
    value: 'wanted',
    says: 'folder in which the agent stores the peers (default: /var/lib/holdfast/agent; with the argument CFG: the folder holdfast-agent beside CFG)',
  },
  { long: 'stable-for', value: 'wanted', says: 'time that a change must last before it is handed over (default: 5s)' },
  { long: 'listen', value: 'wanted', says: 'ADDRESS:PORT for /metrics and /healthz of the agent (default: none)' },
  { long: 'native', says: 'every node of the LAN runs holdfast: VRRPv3, no password' },
  {
    long: 'no-status',
    says: 'do not write the holders of the VIPs to the API, and do not follow its HostedNetServices',
  },
  {
    long: 'dns-report',
    value: 'wanted',
    says: 'file in which holdfast corednsmonitor of this node reports, for the conditions (default: none)',
  },
  {
    long: 'print',
    value: 'maybe',
    says: 'print the configuration that would be handed over (yaml, keepalived; default: both), change nothing',
  },
  { long: 'nodes', value: 'wanted', says: 'with --print: file with a NodeList as JSON, in place of the API' },
  {
    long: 'log-format',
    value: 'wanted',
    says: 'json, text or journald (default: journald for the systemd journal, otherwise text)',
  },
  { long: 'json', says: 'same as --log-format=json' },
  { short: 'h', long: 'help', says: 'print this help' },
]

/** Returns the parsed arguments, or an error text if they cannot be parsed. */
export function givenFlags(argv: readonly string[], known: readonly AgentFlag[] = AGENT_FLAGS): GivenFlags | string {
  const flags: Given[] = []
  const positional: string[] = []
  const rest = [...argv]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') {
      positional.push(...rest)
      break
    }
    if (!word.startsWith('-') || word === '-') {
      positional.push(word)
      continue
    }
    const [, long, short, attached] = /^(?:--([^=]*)|-(.))(?:(.*))$/s.exec(word) ?? []
    const flag = known.find((each) => (long === undefined ? each.short === short : each.long === long))
    if (flag === undefined) return `Unknown option ${long === undefined ? `-${short ?? ''}` : `--${long}`}`
    const inWord = attached === undefined || attached === '' ? undefined : attached.replace(/^=/, '')
    const read = givenValue(flag, inWord, rest)
    if (typeof read === 'string') return read
    flags.push(read)
  }
  return { flags, positional }
}

function givenValue(flag: AgentFlag, inWord: string | undefined, rest: string[]): Given | string {
  if (flag.value === undefined)
    return inWord === undefined ? { flag, value: undefined } : `The option --${flag.long} takes no value`
  if (inWord !== undefined) return { flag, value: inWord }
  const [next] = rest
  if (flag.value === 'maybe')
    return { flag, value: next !== undefined && MAYBE_VALUES.includes(next) ? rest.shift() : undefined }
  // If another flag follows, the value was forgotten.
  if (next === undefined || next.startsWith('--')) return `Missing value for option --${flag.long}`
  return { flag, value: rest.shift() }
}

/** Returns the lines of a help text about the flags. */
export function flagLines(flags: readonly AgentFlag[]): string {
  const word = ({ short, long, value }: AgentFlag) =>
    `  ${short === undefined ? '    ' : `-${short}, `}--${long}${value === undefined ? '' : value === 'maybe' ? '[=VALUE]' : '=VALUE'}`
  const width = Math.max(...flags.map((flag) => word(flag).length)) + 2
  return flags.map((flag) => `${word(flag).padEnd(width)}${flag.says}\n`).join('')
}
