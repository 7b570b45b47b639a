/**
 * The words that the agent's command line is made of: dynkeepalived's flags, then ours. Decided here: which flags there are, and
 * how words become flags (the way of Go's pflag: --flag=value, --flag value, -cVALUE; arguments in between). Refuses to judge values.
 */

export type AgentFlag = {
  readonly short?: string
  readonly long: string
  /** `maybe`: in the same word, or as the next one where that is one of its values. */
  readonly value?: 'wanted' | 'maybe'
  readonly says: string
}
export type Given = { readonly flag: AgentFlag; readonly value: string | undefined }
export type GivenFlags = { readonly flags: readonly Given[]; readonly positional: readonly string[] }

const MAYBE_VALUES = ['yaml', 'keepalived', 'both']

export const AGENT_FLAGS: readonly AgentFlag[] = [
  { long: 'api-vips', value: 'wanted', says: 'VIPs of the API, with commas: one, or one of each family' },
  { long: 'ingress-vips', value: 'wanted', says: 'VIPs of ingress, in the same order' },
  { long: 'api-vip', value: 'wanted', says: 'the same with one VIP' },
  { long: 'ingress-vip', value: 'wanted', says: 'the same with one VIP' },
  { long: 'dns-vip', value: 'wanted', says: 'without effect' },
  { long: 'api-port', value: 'wanted', says: 'port of the API (default: 6443)' },
  { long: 'lb-port', value: 'wanted', says: 'port that the API is led to by nftables (default: 9445)' },
  { long: 'check-interval', value: 'wanted', says: 'how often the node itself is looked at (default: 10s)' },
  {
    short: 'c',
    long: 'cluster-config',
    value: 'wanted',
    says: 'the file with the install-config, on a bootstrap node',
  },
  { short: 'p', long: 'platform', value: 'wanted', says: 'as in the Infrastructure resource' },
  { long: 'control-plane-topology', value: 'wanted', says: 'as in the Infrastructure resource' },
  { long: 'name', value: 'wanted', says: "the cluster's name, instead of what cluster-config or kubeconfig say" },
  { long: 'api-vrid', value: 'wanted', says: 'instead of the VRID by the name' },
  { long: 'ingress-vrid', value: 'wanted', says: 'instead of the VRID by the name' },
  {
    long: 'engine-socket',
    value: 'wanted',
    says: "the engine's control socket (default: /run/holdfast/holdfast.sock)",
  },
  {
    long: 'state-dir',
    value: 'wanted',
    says: 'where peers are remembered (default: /var/lib/holdfast/agent, with CFG holdfast-agent beside it)',
  },
  { long: 'stable-for', value: 'wanted', says: 'how long a change must last before it is handed over (default: 5s)' },
  { long: 'listen', value: 'wanted', says: 'ADDRESS:PORT for /metrics and /healthz of the agent (default: nowhere)' },
  { long: 'native', says: 'every node of the LAN runs holdfast: VRRPv3, no password' },
  { long: 'no-status', says: 'the API is not told who holds the addresses, and its HostedNetServices not followed' },
  {
    long: 'print',
    value: 'maybe',
    says: 'print what would be handed over (yaml, keepalived; default: both), change nothing',
  },
  { long: 'nodes', value: 'wanted', says: 'with --print: a NodeList as JSON instead of the API' },
  {
    long: 'log-format',
    value: 'wanted',
    says: 'json, text or journald (default: journald for the systemd journal, otherwise text)',
  },
  { long: 'json', says: 'the same as --log-format=json' },
  { short: 'h', long: 'help', says: 'prints the flags' },
]

/** Or why not. */
export function givenFlags(argv: readonly string[]): GivenFlags | string {
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
    const flag = AGENT_FLAGS.find((each) => (long === undefined ? each.short === short : each.long === long))
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
  // A flag where a value belongs is a value that was forgotten, not one.
  if (next === undefined || next.startsWith('--')) return `Missing value for option --${flag.long}`
  return { flag, value: rest.shift() }
}
