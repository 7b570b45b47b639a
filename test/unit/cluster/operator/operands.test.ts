/** The MachineConfigs that the operator writes: the manifests of deploy/ with the values of the cluster, for each platform. */
import type { Pod } from 'kubernetes-types/core/v1.js'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { monitorOrder as corednsMonitorOrder } from '../../../../src/cli/dns/monitor-flags.ts'
import { monitorOrder } from '../../../../src/cli/monitor/monitor-flags.ts'
import { operandTexts } from '../../../../src/cli/operator/operand-texts.ts'
import { type ClusterPlan, readClusterPlan } from '../../../../src/cluster/decisions/operator/cluster-plan.ts'
import { poolTexts, poolTroubles, readConfigPool } from '../../../../src/cluster/decisions/operator/config-pool.ts'
import { readOperandPod, waitingFor } from '../../../../src/cluster/decisions/operator/operand-pod.ts'
import { operandConfigs, rolloutTexts } from '../../../../src/cluster/decisions/operator/operands.ts'
import { address } from '../../../../src/wire/address.ts'

const texts = operandTexts()
const images = { holdfast: 'reg/a:1', 'holdfast-openshift': 'reg/b@sha256:2', coredns: 'reg/c:3' }
const MANIFEST = '/etc/kubernetes/manifests/haproxy.yaml'
const DISABLED = '/etc/kubernetes/disabled-manifests/haproxy.yaml'

const planOf = (type: string) => {
  const place = { apiServerInternalIPs: ['10.1.0.5', 'fd01::5'], ingressIPs: ['10.1.0.4', 'fd01::4'] }
  const status = { platformStatus: { type, [type.toLowerCase()]: place } }
  const plan = readClusterPlan({
    status: { ...status, apiServerInternalURI: 'https://api-int.ostest.example.com:6443' },
  })
  if (plan === undefined) throw new Error('The plan cannot be read')
  return plan
}

/** Returns the files of each MachineConfig by path, as the Machine Config Operator decodes them. */
function filesOf(type: string, haproxy: 'Running' | 'Stopped' = 'Running', given = texts) {
  const made = operandConfigs({ images, texts: given }, planOf(type), haproxy, (text) => String(text.length))
  if ('problem' in made) throw new Error(made.problem)
  const [master = {}, worker = {}] = made.configs.map(({ object }) => {
    const { spec } = object as {
      spec: { config: { storage: { files: { path: string; contents: { source: string } }[] } } }
    }
    return Object.fromEntries(
      spec.config.storage.files.map(({ contents, path }) => [
        path,
        decodeURIComponent(contents.source.replace(/^data:,/, '')),
      ]),
    )
  })
  return { master, worker, operands: made.operands }
}
const podIn = (text: string | undefined): Pod => parse(text ?? '')

describe('the manifests of a platform', () => {
  test.each([
    ['BareMetal', 'kni'],
    ['VSphere', 'vsphere'],
    ['OpenStack', 'openstack'],
    ['oVirt', 'ovirt'],
    ['Nutanix', 'nutanix'],
  ])('on %s each line that an administrator edits has the value of the cluster', (type, name) => {
    const { master } = filesOf(type)
    const haproxy = master[MANIFEST] ?? ''
    const coredns = master['/etc/kubernetes/manifests/coredns.yaml'] ?? ''
    expect(podIn(haproxy).metadata).toMatchObject({
      ...{ name: 'haproxy', namespace: `openshift-${name}-infra`, labels: { app: `${name}-infra-api-lb` } },
    })
    expect(podIn(coredns).metadata).toMatchObject({
      ...{ name: 'coredns', namespace: `openshift-${name}-infra`, labels: { app: `${name}-infra-coredns` } },
    })
    for (const [text, shipped] of [
      [haproxy, texts.haproxyPod],
      [coredns, texts.corednsPod],
    ] as const) {
      // The line after each mark differs from the shipped one. On bare metal the shipped names are right.
      const edits = shipped.split('\n').flatMap((line, i, all) => (/^ *# EDIT/.test(line) ? [all[i + 1] ?? ''] : []))
      expect(edits.length).toBeGreaterThan(4)
      const left = edits.filter((line) => text.includes(`\n${line}\n`))
      expect(left.filter((line) => name !== 'kni' || !line.includes('kni-infra'))).toEqual([])
      expect(text).not.toMatch(/EDIT|registry\.example|CLUSTER|192\.168\.111/)
    }
    expect(haproxy).toContain('https://api-int.ostest.example.com:6443/healthz')
  })

  test('the programs in the pods accept their arguments, and each container has its image', () => {
    const { master } = filesOf('BareMetal')
    const haproxy = podIn(master[MANIFEST])
    const coredns = podIn(master['/etc/kubernetes/manifests/coredns.yaml'])
    const imagesIn = ({ spec }: Pod) =>
      [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ image, name }) => `${name}=${image}`)
    expect(new Set(imagesIn(haproxy).map((line) => line.replace(/.*=/, '')))).toEqual(new Set(['reg/b@sha256:2']))
    expect(imagesIn(coredns)).toEqual([
      ...['wait-for-ports=reg/a:1', 'render-config-coredns=reg/a:1', 'coredns=reg/c:3', 'coredns-monitor=reg/a:1'],
    ])
    const commandOf = ({ spec }: Pod, name: string) => spec?.containers.find((one) => one.name === name)?.command ?? []
    expect(monitorOrder(commandOf(haproxy, 'haproxy-monitor').slice(1))).toMatchObject({
      ...{ do: 'run', settings: { vips: ['10.1.0.5', 'fd01::5'] } },
    })
    expect(corednsMonitorOrder(commandOf(coredns, 'coredns-monitor').slice(2), {})).toMatchObject({ do: 'run' })
  })
})

test('workers get CoreDNS alone, and a changed template changes the revision of its pod', () => {
  const { operands, worker } = filesOf('BareMetal')
  expect(Object.keys(worker)).toEqual([
    ...['/etc/kubernetes/manifests/coredns.yaml', '/etc/kubernetes/static-pod-resources/coredns/Corefile.tmpl'],
  ])
  const changed = filesOf('BareMetal', 'Running', { ...texts, haproxyTemplate: `${texts.haproxyTemplate}# more\n` })
  expect(changed.operands.map(({ revision }, i) => revision === operands[i]?.revision)).toEqual([true, false])
})

test('a stopped HAProxy is in disabled-manifests, and its place has a file without a pod', () => {
  const { master, operands } = filesOf('BareMetal', 'Stopped')
  expect(podIn(master[DISABLED]).metadata?.name).toBe('haproxy')
  expect(parse(master[MANIFEST] ?? '-')).toBeNull()
  expect(operands.map(({ task }) => task)).toEqual(['coredns'])
  expect(filesOf('BareMetal').master).not.toHaveProperty([DISABLED])
})

test('without a name of the API no MachineConfig is made', () => {
  const plan = { ...planOf('BareMetal'), apiInt: undefined }
  expect(operandConfigs({ images, texts }, plan, 'Running', String)).toEqual({
    problem: 'Infrastructure has no usable status.apiServerInternalURI',
  })
})

test.each<[string, Partial<ClusterPlan>, string]>([
  ['no API VIP', { apiVips: [] }, 'Infrastructure has no API VIP'],
  ['an address that cannot be used', { problems: ['ingressIPs[0]: "x"'] }, 'ingressIPs[0]: "x"'],
  ['two VIPs of one family', { apiVips: [address('10.1.0.5'), address('10.1.0.6')] }, 'another IPv4 VIP'],
  ['a pair of two families', { ingressVips: [address('fd01::4')] }, 'their families differ'],
])('with %s no MachineConfig is made, because the programs in the pods would end', (_, change, problem) => {
  expect(operandConfigs({ images, texts }, { ...planOf('BareMetal'), ...change }, 'Running', String)).toEqual({
    problem: expect.stringContaining(problem),
  })
})

const pod = (app: string, node: string, more: object = {}) => {
  const { annotations, status } = { annotations: {}, status: {}, ...more }
  const labels = { app, 'app.kubernetes.io/name': 'holdfast' }
  const read = readOperandPod({
    metadata: { name: `p-${node}`, labels, annotations },
    spec: { nodeName: node },
    status,
  })
  if (read === undefined) throw new Error('The pod has no task')
  return read
}
const node = (name: string, labels: Readonly<Record<string, string>>) => ({
  ...{ name, labels, annotations: {}, addresses: [], kubeletVersion: '' },
})

test('a node has followed as soon as its pod of the present revision is ready', () => {
  const nodes = [node('m1', { 'node-role.kubernetes.io/control-plane': '' }), node('w1', {})]
  const operands = [
    { task: 'coredns', manifest: 'coredns.yaml', revision: '2' },
    { task: 'api-lb', manifest: 'haproxy.yaml', revision: '2' },
  ] as const
  const ready = (revision: string, status = 'True') => ({
    ...{ annotations: { 'holdfast/revision': revision }, status: { conditions: [{ type: 'Ready', status }] } },
  })
  expect(rolloutTexts(operands, nodes, [pod('kni-infra-coredns', 'm1', ready('1'))])).toEqual([
    ...['coredns.yaml is rolled out; waiting for m1, w1', 'haproxy.yaml is rolled out; waiting for m1'],
  ])
  const pods = ['m1', 'w1'].map((name) => pod('kni-infra-coredns', name, ready('2')))
  expect(rolloutTexts(operands, nodes, [...pods, pod('kni-infra-api-lb', 'm1', ready('2', 'False'))])).toEqual([
    'haproxy.yaml is rolled out; waiting for m1',
  ])
  expect(rolloutTexts(operands, nodes, [...pods, pod('kni-infra-api-lb', 'm1', ready('2'))])).toEqual([])
})

test('nodes whose pool gets no MachineConfig are not waited for: arbiters, and nodes with another operating system', () => {
  const nodes = [
    node('a1', { 'node-role.kubernetes.io/arbiter': '', 'kubernetes.io/os': 'linux' }),
    node('win1', { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/os': 'windows' }),
    node('w1', { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/os': 'linux' }),
  ]
  expect(rolloutTexts([{ task: 'coredns', manifest: 'coredns.yaml', revision: '2' }], nodes, [])).toEqual([
    'coredns.yaml is rolled out; waiting for w1',
  ])
})

test('O11: a pod that waits for the ports of another instance is named', () => {
  const status = { initContainerStatuses: [{ name: 'wait-for-ports', state: { running: { startedAt: 'x' } } }] }
  expect(waitingFor([pod('kni-infra-api-lb', 'm1', { status })])).toEqual([
    'pod p-m1 waits until another program on m1 has left its ports',
  ])
  const ended = { initContainerStatuses: [{ name: 'wait-for-ports', state: { terminated: { exitCode: 0 } } }] }
  expect(waitingFor([pod('kni-infra-api-lb', 'm1', { status: ended })])).toEqual([])
})

test('a pool that has not updated all nodes is named, and a degraded pool is a trouble', () => {
  const pool = (more: object, paused = false) =>
    readConfigPool({ metadata: { name: 'worker' }, spec: { paused }, status: { machineCount: 3, ...more } })
  const pools = [pool({ updatedMachineCount: 1 }, true)].flatMap((one) => one ?? [])
  expect(poolTexts(pools)).toEqual(['pool worker: 1 of 3 nodes are updated, and the pool is paused'])
  expect(poolTroubles(pools)).toEqual([])
  const conditions = [{ type: 'Degraded', status: 'True', message: 'node w2 is reporting drift' }]
  const bad = [pool({ updatedMachineCount: 3, conditions })].flatMap((one) => one ?? [])
  expect(poolTexts(bad)).toEqual([])
  expect(poolTroubles(bad)).toEqual([
    { reason: 'OperandsNotRolledOut', message: 'MachineConfigPool worker is degraded: node w2 is reporting drift' },
  ])
})
