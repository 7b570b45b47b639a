/**
 * The configuration of a node, written in two forms. The text of keepalived.conf is the one that the cluster's own
 * templates render. The YAML means the same routers as that text, read by the importer of keepalived's files.
 */
import { describe, expect, test } from 'vitest'
import type { Desired, Instance } from '../../../src/cluster/decisions/engine/desired.ts'
import { documentOf, documentText } from '../../../src/cluster/decisions/engine/document.ts'
import { keepalivedText } from '../../../src/cluster/decisions/engine/keepalived-text.ts'
import type { Config } from '../../../src/config/config.ts'
import type { ParsedConfig } from '../../../src/config/configuration.ts'
import { diffConfig } from '../../../src/config/diff.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { address } from '../../../src/wire/address.ts'
import { read, sample } from '../../support/keepalived-text.ts'
import { renderedNode } from '../../support/rendered-node.ts'

/** Every sample whose input exists. */
const SAMPLES = [
  'bootstrap',
  'bootstrap-initial',
  'master',
  'master-dualstack',
  'master-multicast',
  'master-openstack-dualstack',
  'worker',
  'worker-openstack-dualstack',
]

/** Removes comments and blank lines; a line keeps its indentation. */
const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.replace(/\s+$/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))

const at = (text: string, prefixLength: number) => ({ address: address(text), prefixLength })
const link = (name: string, v4: string, v6 = 'fd2e:6f44:5dd8:c956::14') => ({
  name,
  mtu: 1500,
  addresses: [at(v4, 24), at('fe80::1', 64), at(v6, 64)],
})
const nodeOf = ({ instances }: Desired) => {
  const [{ interface: name = 'br-ex', source = '192.168.111.20' } = {}] = instances
  return { interfaces: [link(name, source, instances.find((one) => one.source.includes(':'))?.source)] }
}

function resolved(parsed: ParsedConfig, desired: Desired) {
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const { routers, problems } = resolveRouters(parsed.config, nodeOf(desired), parsed.locate)
  const weights = weightsOf(parsed.config)
  return {
    said: [...parsed.warnings, ...problems].map(({ message }) => message),
    routers: [...routers]
      .map(({ name, group, interfaceName, source, fault, parameters, announce }) => ({
        name,
        group,
        interfaceName,
        source,
        fault,
        parameters: { ...withoutBase(parameters), transport: withoutBase(parameters.transport) },
        announce,
        weights: weights(name),
      }))
      .sort((a, b) => a.name.localeCompare(b.name)),
  }
}

/**
 * Removes the intended difference: the YAML has the base priority of each peer, which keepalived's file cannot have.
 */
const withoutBase = <T extends object>(value: T): T =>
  'peers' in value && Array.isArray(value.peers)
    ? { ...value, peers: value.peers.map(({ address: peer }: { address: string }) => ({ address: peer })) }
    : value

/**
 * Returns the sum of weights for each router. The names of the checks differ, because holdfast checks without a
 * program.
 */
function weightsOf({ virtualRouters, syncGroups }: Config) {
  return (name: string) =>
    [...virtualRouters.filter((router) => router.name === name), ...syncGroups.filter((g) => g.members.includes(name))]
      .flatMap(({ track }) => track.map((tracker) => tracker.weight))
      .sort((a, b) => (a ?? 0) - (b ?? 0))
}

const instance = (change: Partial<Instance> = {}): Instance => {
  const [first] = renderedNode('master').instances
  if (first === undefined) throw new Error('the sample has no instance')
  return { ...first, ...change }
}
const desired = (...instances: Instance[]): Desired => ({ ...renderedNode('master'), instances, groups: [] })
const only = (value: ReturnType<typeof documentOf>): Record<string, unknown> =>
  (value.virtualRouters as Record<string, unknown>[])[0] ?? {}

describe.each(SAMPLES)('%s', (name) => {
  test("the text of keepalived.conf is that of OpenShift's templates", () => {
    expect(lines(keepalivedText(renderedNode(name)))).toEqual(lines(sample(name)))
  })

  test("the YAML has no problem in holdfast's loader", () => {
    const parsed = parseConfig(documentText(renderedNode(name)))
    expect('problems' in parsed ? parsed.problems.map(formatProblem) : []).toEqual([])
  })
})

// A node without peers is the one intended difference: keepalived changes to multicast there.
test.each(SAMPLES.filter((name) => name !== 'bootstrap-initial'))(
  '%s as YAML: the routers that the text of the templates means',
  (name) => {
    const node = renderedNode(name)
    const ours = resolved(parseConfig(documentText(node)), node)
    expect(ours.said).toEqual([])
    expect(ours.routers.length).toBeGreaterThan(0)
    expect(ours.routers).toEqual(resolved(read(sample(name)), node).routers)
  },
)

describe('YAML', () => {
  test('a node without peers is alone and never uses multicast', () => {
    const node = renderedNode('bootstrap-initial')
    expect(documentText(node)).toContain('peers: []')
    const { routers } = resolved(parseConfig(documentText(node)), node)
    expect(routers.map(({ parameters }) => parameters.transport)).toEqual([{ mode: 'unicast', peers: [] }])
    // keepalived treats the same list as multicast, so the profile is not keepalived's here.
    const theirs = resolved(read(sample('bootstrap-initial')), node).routers
    expect(theirs.map(({ parameters }) => parameters.transport.mode)).toEqual(['multicast'])
    const [own] = routers
    const [other] = theirs
    const { stagger, ...others } = own?.parameters.extensions ?? {}
    expect([stagger, others]).toEqual([true, other?.parameters.extensions])
    expect(own?.parameters.reception).toEqual(other?.parameters.reception)
    expect(own?.parameters.checksum).toBe(other?.parameters.checksum)
  })

  test('another peer at the start or end of the list recreates no router, so no address is released', () => {
    const [own, other] = [address('192.168.111.21'), address('192.168.111.22')]
    for (const native of [false, true]) {
      const config = (peers: Instance['peers']) => {
        const parsed = parseConfig(documentText(desired(instance({ peers })), { native }))
        if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
        return parsed.config
      }
      const [alone, two, three] = [config([]), config([own]), config([own, other])]
      for (const [old, next] of [[alone, two] as const, [two, alone] as const, [two, three] as const]) {
        const { changed, recreated, added, removed } = diffConfig(old, next)
        expect({ changed, recreated, added, removed }).toEqual({
          changed: ['ostest_API_0'],
          recreated: [],
          added: [],
          removed: [],
        })
      }
    }
  })

  test('if a file contains our address, the engine follows the file for interface and source', () => {
    const file = '/run/nodeip-configuration/ipv4'
    const node = desired(instance({ sourceFile: file, interface: 'eno1', source: address('192.168.111.9') }))
    const parsed = parseConfig(documentText(node))
    if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
    // The interface had the name eno1 and the address .9 a moment before.
    const files = new Map([[file, { reading: { address: address('192.168.111.20') } }]])
    const { routers } = resolveRouters(
      parsed.config,
      { interfaces: [link('br-ex', '192.168.111.20')], files },
      parsed.locate,
    )
    expect(routers.map(({ interfaceName, source, fault }) => [interfaceName, source, fault])).toEqual([
      ['br-ex', '192.168.111.20', undefined],
    ])
  })

  test('without a file, the engine follows the address, so a move is not another configuration', () => {
    const before = documentText(desired(instance({ interface: 'eno1' })))
    const after = documentText(desired(instance({ interface: 'br-ex' })))
    expect(after).toBe(before)
    const parsed = parseConfig(before)
    if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
    for (const name of ['eno1', 'br-ex']) {
      const view = { interfaces: [link(name, '192.168.111.20')] }
      const { routers } = resolveRouters(parsed.config, view, parsed.locate)
      expect(routers.map(({ interfaceName, source, fault }) => [interfaceName, source, fault])).toEqual([
        [name, '192.168.111.20', undefined],
      ])
    }
  })

  test("the placeholder of a missing node is in keepalived's file only", () => {
    const node = desired(instance({ peers: [], placeholder: address('0.0.0.0') }))
    expect(lines(keepalivedText(node)).join('\n')).toContain('unicast_peer {\n        0.0.0.0\n    }')
    expect(only(documentOf(node)).transport).toEqual({ unicast: { source: '192.168.111.20', peers: [] } })
  })

  test("native mode uses version 3 without a password and holdfast's own profile", () => {
    const text = documentText(renderedNode('master-openstack-dualstack'), { native: true })
    expect(text).not.toMatch(/authentication|keepalived|version: 2/)
    const { routers, said } = resolved(parseConfig(text), renderedNode('master-openstack-dualstack'))
    expect(said).toEqual([])
    expect(routers.map(({ parameters }) => [parameters.version, parameters.extensions.stagger])).toEqual(
      Array.from({ length: 4 }, () => [3, true]),
    )
  })

  test('a configuration without routers is a valid file', () => {
    const parsed = parseConfig(documentText(desired()))
    expect('problems' in parsed).toBe(false)
    expect(lines(keepalivedText(desired())).filter((line) => line.startsWith('vrrp_instance'))).toEqual([])
  })

  test('a group has the members of this node, and a group without members is left out', () => {
    const node = renderedNode('master-openstack-dualstack')
    const half = { ...node, instances: node.instances.filter(({ name }) => name === 'ostest_API_1') }
    expect(documentOf(half).syncGroups).toEqual([
      { name: 'VG_API', members: ['ostest_API_1'], preset: 'openshift-api' },
    ])
  })

  test('passwords and names are never read as YAML values', () => {
    const parsed = parseConfig(documentText(desired(instance({ name: '1e3', password: '0123: #x' }))))
    if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
    const [router] = parsed.config.virtualRouters
    expect([router?.name, router?.authentication?.password]).toEqual(['1e3', '0123: #x'])
  })
})
