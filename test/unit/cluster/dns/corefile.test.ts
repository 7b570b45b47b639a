/**
 * The Corefile of a node: its directives, the wishes in HostedNetServices, and the reasons for which the file in force
 * stays. The template is the shipped one. CoreDNS itself reads the files in test/netns/dns.test.ts.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apiIntAfter, externalIn } from '../../../../src/cluster/decisions/dns/api-int.ts'
import { type CorefileSources, decideCorefile } from '../../../../src/cluster/decisions/dns/corefile.ts'
import { corefileProblems } from '../../../../src/cluster/decisions/dns/corefile-check.ts'
import { corefilePort } from '../../../../src/cluster/decisions/dns/corefile-port.ts'
import { corefileTree } from '../../../../src/cluster/decisions/dns/corefile-tree.ts'
import { apiIntAnswers, DEFAULT_WISHES } from '../../../../src/cluster/decisions/dns/corefile-wishes.ts'
import { vipPairs } from '../../../../src/cluster/decisions/engine/vip-pairs.ts'
import { address } from '../../../../src/wire/address.ts'

const TEMPLATE = readFileSync(join(import.meta.dirname, '../../../../deploy/dns/Corefile.tmpl'), 'utf8')
const DOMAIN = 'ostest.example.com'
const node = (name: string, ...addresses: string[]) => ({
  ...{ name, labels: {}, annotations: {}, kubeletVersion: '' },
  addresses: [
    ...addresses.map((each) => ({ type: 'InternalIP', address: each })),
    { type: 'Hostname', address: `${name}.some.where` },
  ],
})
const SOURCES: CorefileSources = {
  cluster: {
    ...{ name: 'ostest', domain: 'example.com', platform: '' },
    pairs: vipPairs({ api: ['10.0.0.5', 'fd00::5'], ingress: ['10.0.0.7', 'fd00::7'] }).pairs,
  },
  template: TEMPLATE,
  resolvConf: 'nameserver 9.9.9.9\nnameserver 1.1.1.1\n',
  ...{ self: address('10.0.0.11'), own: [address('10.0.0.11')], shortHostname: 'm0' },
  nodes: [node('m1', '10.0.0.12', 'fd00::12'), node('m0', '10.0.0.11')],
  wishes: DEFAULT_WISHES,
}
const fileOf = (changes: Partial<CorefileSources> = {}): string => {
  const { file } = decideCorefile({ ...SOURCES, ...changes })
  if ('kept' in file) throw new Error(file.kept)
  return file.text
}
const keptBecause = (changes: Partial<CorefileSources>) => {
  const { file } = decideCorefile({ ...SOURCES, ...changes })
  return 'kept' in file ? file.kept : 'a file'
}
/** Returns the directives of the only server block, each as one line. */
const directives = (text: string): string[] => {
  const blocks = corefileTree(text)
  if ('problem' in blocks) throw new Error(blocks.problem)
  return blocks.flatMap(({ block }) =>
    block.map(({ name, words, block: inner }) =>
      [name, ...words, ...inner.map((each) => `| ${[each.name, ...each.words].join(' ')}`)].join(' '),
    ),
  )
}

describe('the Corefile of a cluster behind load balancers of a cloud', () => {
  const template = `. {
    forward .{{ range .DNSUpstreams }} {{ . }}{{ end }} {
        force_tcp
    }
{{- range .Configs }}
    template IN {{ .Cluster.CloudLBRecordType }} ${DOMAIN} {
        match ^api-int[.]${DOMAIN}[.]$
        answer "{{"{{ .Name }}"}} 60 in {{"{{ .Type }}"}} {{ index .Cluster.APIIntLBIPs 0 }}"
    }
    template IN {{ .Cluster.CloudLBEmptyType }} ${DOMAIN} {
        match ^api-int[.]${DOMAIN}[.]$
    }
{{- end }}
    hosts {
{{- range .Cluster.NodeAddresses }}
        {{ .Address }} {{ .Name }}
{{- end }}
    }
}
`
  test.each([
    ['192.0.2.1', 'A', 'AAAA'],
    ['2001:db8::1', 'AAAA', 'A'],
  ])('answers api-int with %s for the type %s, and not for %s', (place, type, empty) => {
    const cloud = [{ api: undefined, apiInt: address(place), ingress: undefined }]
    const cluster = { ...SOURCES.cluster, pairs: [], platform: 'AWS', cloud }
    const match = `match ^api-int[.]${DOMAIN}[.]$`
    expect(directives(fileOf({ cluster, template }))).toEqual([
      'forward . 9.9.9.9 1.1.1.1 | force_tcp',
      `template IN ${type} ${DOMAIN} | ${match} | answer {{ .Name }} 60 in {{ .Type }} ${place}`,
      `template IN ${empty} ${DOMAIN} | ${match}`,
      'hosts | 10.0.0.11 m0 | 10.0.0.12 m1 | fd00::12 m1',
    ])
  })
})

describe('the Corefile', () => {
  test('has the directives of an on-premises node', () => {
    const dot = '[.]ostest.example.com[.]$'
    const zone = `IN A ${DOMAIN}`
    expect(directives(fileOf())).toEqual([
      ...['errors', 'bufsize 512', 'health :18080', 'forward . 9.9.9.9 1.1.1.1 | policy sequential | next SERVFAIL'],
      'forward . 1.1.1.1 | next SERVFAIL',
      ...['cache 30', 'reload'],
      `template ${zone} | match [.]apps${dot} | answer {{ .Name }} 60 in {{ .Type }} 10.0.0.7 | fallthrough`,
      `template ${zone} | match ^api${dot} | answer {{ .Name }} 60 in {{ .Type }} 10.0.0.5 | fallthrough`,
      `template ${zone} | match ^api-int${dot} | answer {{ .Name }} 60 in {{ .Type }} 10.0.0.5 | fallthrough`,
      `template IN AAAA ${DOMAIN} | match [.]apps${dot} | answer {{ .Name }} 60 in {{ .Type }} fd00::7 | fallthrough`,
      `template IN AAAA ${DOMAIN} | match ^api${dot} | answer {{ .Name }} 60 in {{ .Type }} fd00::5 | fallthrough`,
      `template IN AAAA ${DOMAIN} | match ^api-int${dot} | answer {{ .Name }} 60 in {{ .Type }} fd00::5 | fallthrough`,
      `template IN ANY ${DOMAIN} | match [.]apps${dot} | fallthrough`,
      `template IN ANY ${DOMAIN} | match ^api${dot} | fallthrough`,
      `template IN ANY ${DOMAIN} | match ^api-int${dot} | fallthrough`,
      `hosts | 10.0.0.11 m0 m0.${DOMAIN} | 10.0.0.12 m1 m1.${DOMAIN} | fd00::12 m1 m1.${DOMAIN} | fallthrough`,
    ])
  })

  test('stays the same, to the last byte, whatever the order of the nodes in the API', () => {
    expect(fileOf({ nodes: [...(SOURCES.nodes ?? [])].reverse() })).toBe(fileOf())
  })

  test.each([
    ['without a list of nodes', { nodes: undefined }, 'nodes of the cluster are not known'],
    ['without a node', { nodes: [] }, 'no node of the cluster'],
    ['without an answer about the wishes', { wishes: undefined }, 'wishes'],
    ['without resolv.conf', { resolvConf: undefined }, 'resolv.conf'],
    ['if this node is the only server', { resolvConf: 'nameserver 10.0.0.11\n' }, 'no DNS server outside of this node'],
    ['if the template is wrong', { template: '. {\n {{ .Nothing }}\n}\n' }, 'line 2'],
    ['if the template gives no block', { template: '{{ if false }}.{{ end }}' }, 'no server block'],
    ['if a block is not closed', { template: '. {\n    errors\n' }, 'line 1: a block is not closed'],
    ['if a plugin is unknown', { template: '. {\n    keepalive 3\n}\n' }, '"keepalive"'],
  ])('stays %s', (_, changes, why) => {
    expect(keptBecause(changes)).toContain(why)
  })

  test('leaves out a node whose name is no name, and says so', () => {
    const { notes, file } = decideCorefile({
      ...SOURCES,
      nodes: [node('m0', '10.0.0.11'), node('bad_name', '10.0.0.13')],
    })
    expect(notes).toEqual(['node bad_name gets no DNS record: its Hostname "bad_name.some.where" is not a host name'])
    expect('text' in file && file.text).not.toContain('10.0.0.13')
  })
})

describe('the wishes in HostedNetServices', () => {
  test('appsResolution off removes the blocks of apps and nothing else', () => {
    const off = directives(fileOf({ wishes: { ...DEFAULT_WISHES, apps: false } }))
    expect(off).toEqual(directives(fileOf()).filter((each) => !each.includes('[.]apps[.]')))
  })

  test('nodesResolution off empties hosts and changes nothing else', () => {
    const off = directives(fileOf({ wishes: { ...DEFAULT_WISHES, nodes: false } }))
    expect(off.at(-1)).toBe('hosts | fallthrough')
    expect(off.slice(0, -1)).toEqual(directives(fileOf()).slice(0, -1))
  })

  test('an external load balancer changes the answer of api-int only, and empties the other family', () => {
    const external = fileOf({ wishes: { ...DEFAULT_WISHES, apiInt: address('10.0.0.9') } })
    expect(apiIntAnswers(external, DOMAIN)).toEqual(['10.0.0.9'])
    const others = (text: string) => directives(text).filter((each) => !each.includes('api-int'))
    expect(others(external)).toEqual(others(fileOf()))
    expect(corefileProblems(external)).toEqual([])
    // The next start of the process reads it there.
    expect(externalIn(apiIntAnswers(external, DOMAIN), [address('10.0.0.5'), address('fd00::5')])).toBe('10.0.0.9')
    expect(externalIn(apiIntAnswers(fileOf(), DOMAIN), [address('10.0.0.5'), address('fd00::5')])).toBeUndefined()
  })

  test('the address of api-int stays while another one does not answer, and goes back to the VIP with the wish', () => {
    const [old, place] = [address('10.0.0.8'), address('10.0.0.9')]
    expect(apiIntAfter(old, { kind: 'asking', place, answers: 2, failed: undefined })).toBe(old)
    expect(apiIntAfter(old, { kind: 'refused', wished: 'x', why: 'y' })).toBe(old)
    expect(apiIntAfter(old, { kind: 'answers', place, failures: 0 })).toBe(place)
    expect(apiIntAfter(place, { kind: 'own' })).toBeUndefined()
  })
})

describe('corefileProblems', () => {
  const inServer = (line: string) => `. {\n    ${line}\n}\n`
  test.each([
    [
      'an answer without an address',
      'template IN A x.y {\n answer "{{ .Name }} 60 in {{ .Type }} "\n }',
      'line 2: cannot use answer',
    ],
    ['an address of the other family', 'template IN A x.y {\n answer "a 60 in A fd00::1"\n }', 'the type A'],
    ['a pattern with look-ahead', 'template IN A x.y {\n match (?=a)\n }', 'a regular expression'],
    ['a server that is a name', 'forward . dns.example', '"dns.example"'],
    ['a host that is no address', 'hosts {\n m0 10.0.0.1\n }', '"m0"'],
    ['a name that is no name', 'hosts {\n 10.0.0.1 bad_name\n }', '"bad_name"'],
    ['an open quotation mark', 'errors "x', 'quotation mark'],
    ['a brace too many', 'errors\n }', 'closes no block'],
  ])('%s', (_, line, what) => {
    expect(corefileProblems(inServer(line)).join()).toContain(what)
  })

  test.each([
    'forward . 9.9.9.9:53 [fd00::1]:5353 fe80::1%eth0 tls://9.9.9.9 /etc/resolv.conf',
    'log',
    'hosts /etc/hosts',
  ])('%s is accepted', (line) => expect(corefileProblems(inServer(line))).toEqual([]))

  test('a zone that is no name is refused', () => {
    expect(corefileProblems('bad_zone {\n errors\n}\n').join()).toContain('zone "bad_zone"')
  })
})

describe('the port of CoreDNS', () => {
  test('is in the name of the server block, or 53', () => {
    expect(corefilePort('.:5353 {\n    errors\n}\n')).toBe(5353)
    expect(corefilePort(fileOf())).toBe(53)
  })
})
