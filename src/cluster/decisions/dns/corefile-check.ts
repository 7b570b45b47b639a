/**
 * Checks a Corefile before it replaces the file of a running CoreDNS. CoreDNS has no command for that. This file decides
 * what is refused: what CoreDNS would refuse at its start, as far as the text shows it, and answers without a usable
 * address. Pure.
 */
import { type Address, familyOf, parseAddress } from '../../../wire/address.ts'
import { corefileTree, type Directive, type ServerBlock } from './corefile-tree.ts'
import { isHostName } from './dns-name.ts'
import { MOST_UPSTREAMS } from './upstreams.ts'

/** Plugins of CoreDNS 1.11 and of OpenShift's CoreDNS. CoreDNS refuses a Corefile with any other directive. */
const PLUGINS: ReadonlySet<string> = new Set(
  `metadata geoip cancel tls timeouts multisocket reload nsid bufsize root bind debug trace ready health pprof
  prometheus errors log dnstap local dns64 acl any chaos loadbalance tsig cache rewrite header dnssec autopath minimal
  template transfer hosts route53 azure clouddns k8s_external kubernetes file auto secondary etcd loop forward grpc
  erratic whoami on sign view nomad mdns ocp_dnsnameresolver import`.split(/\s+/),
)

/** Returns the problems of a Corefile, each with its line; empty if CoreDNS can use the file. */
export function corefileProblems(text: string): readonly string[] {
  const blocks = corefileTree(text)
  if ('problem' in blocks) return [blocks.problem]
  // CoreDNS starts without a server block, and then answers every query on port 53 with nonsense (plugin whoami).
  if (blocks.length === 0) return ['the Corefile has no server block']
  return blocks.flatMap(problemsOfServer)
}

function problemsOfServer(server: ServerBlock): readonly string[] {
  const unknown = server.block
    .filter(({ name }) => !PLUGINS.has(name))
    .map((each) => at(each, `directive ${JSON.stringify(each.name)}`, 'a plugin of CoreDNS'))
  const zones = [server.name, ...server.words]
    .map((word) => word.replace(/,$/, ''))
    .filter((zone) => !isZone(zone))
    .map((zone) => at(server, `zone ${JSON.stringify(zone)}`, 'a name in DNS, with a port or without'))
  return [...zones, ...unknown, ...server.block.flatMap(problemsOfDirective)]
}

function problemsOfDirective(directive: Directive): readonly string[] {
  switch (directive.name) {
    case 'forward':
      return forwardProblems(directive)
    case 'template':
      return templateProblems(directive)
    case 'hosts':
      return directive.block.flatMap(hostsProblems)
    default:
      return []
  }
}

function isZone(text: string): boolean {
  const name = text.replace(/^dns:\/\//, '').replace(/:\d{1,5}$/, '')
  return name === '.' || name === '' || isHostName(name.replace(/\.$/, ''))
}

function forwardProblems(directive: Directive): readonly string[] {
  const [, ...servers] = directive.words
  if (servers.length === 0 || servers.length > MOST_UPSTREAMS)
    return [at(directive, `${servers.length} servers of forward`, `1 to ${MOST_UPSTREAMS}`)]
  return servers
    .filter((server) => !isServer(server))
    .map((server) => at(directive, `server ${JSON.stringify(server)} of forward`, 'an IP address, or an absolute path'))
}

function isServer(text: string): boolean {
  const [, host = ''] = /^(?:dns:\/\/|tls:\/\/)?(.*)$/.exec(text) ?? []
  const [, bracketed, , plain] = /^\[([^\]]+)\](:\d{1,5})?$|^(.*)$/.exec(host) ?? []
  const [name = ''] = (bracketed ?? plain ?? '').split('%')
  return (
    host.startsWith('/') ||
    parseAddress(name) !== undefined ||
    parseAddress(name.replace(/:\d{1,5}$/, '')) !== undefined
  )
}

/** Returns the regular expression of CoreDNS as one of JavaScript; `undefined` if CoreDNS could not use it. */
export function matcher(pattern: string): RegExp | undefined {
  // CoreDNS' regular expressions (RE2) have no look-around and no references to groups.
  if (/\(\?<?[=!]|\\[1-9]/.test(pattern)) return undefined
  try {
    return new RegExp(pattern)
  } catch {
    return undefined
  }
}

function templateProblems(directive: Directive): readonly string[] {
  const [, type = ''] = directive.words
  const patterns = wordsAfter(directive, 'match')
    .filter((pattern) => matcher(pattern) === undefined)
    .map((pattern) => at(directive, `match ${JSON.stringify(pattern)}`, 'a regular expression'))
  const answers = wordsAfter(directive, 'answer')
    .filter((answer) => !isAnswer(answer, type))
    .map((answer) => at(directive, `answer ${JSON.stringify(answer)}`, `a record of the type ${type} with an address`))
  return [...patterns, ...answers]
}

export const wordsAfter = ({ block }: Directive, name: string): readonly string[] =>
  block.filter((each) => each.name === name).flatMap(({ words }) => words)

/** Returns the address in an answer such as `{{ .Name }} 60 in A 192.0.2.1`; `undefined` if its last word is none. */
export const addressInAnswer = (answer: string): Address | undefined =>
  parseAddress(answer.trim().split(/\s+/).at(-1) ?? '')

function isAnswer(answer: string, type: string): boolean {
  if (type !== 'A' && type !== 'AAAA') return true
  const address = addressInAnswer(answer)
  return address !== undefined && familyOf(address) === (type === 'A' ? 'ipv4' : 'ipv6')
}

const HOSTS_OPTIONS = ['fallthrough', 'ttl', 'no_reverse', 'reload']

function hostsProblems(entry: Directive): readonly string[] {
  if (HOSTS_OPTIONS.includes(entry.name)) return []
  if (parseAddress(entry.name) === undefined)
    return [at(entry, `address ${JSON.stringify(entry.name)} of hosts`, 'an IP address')]
  return entry.words
    .filter((name) => !isHostName(name))
    .map((name) => at(entry, `name ${JSON.stringify(name)} of hosts`, 'a host name'))
}

const at = ({ first }: Directive, what: string, expected: string): string =>
  `line ${first}: cannot use ${what}, expected ${expected}`
