/** The operator places HAProxy and CoreDNS by MachineConfigs: its writes, its conditions, and its rights. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClusterRole } from 'kubernetes-types/rbac/v1.js'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { eventually } from '../../../src/lab/wait.ts'
import {
  CONFIGS,
  INFRASTRUCTURES,
  INGRESS_VIP,
  infrastructure,
  OPERANDS,
  OperatorLab,
  POOLS,
} from '../../support/operator-lab.ts'
import { grantsIn, refusedIn, unusedIn } from '../../support/rbac.ts'

/** A VIP that the pods accept, in the place of the lab's loopback address. The stand-in answers for it. */
const API_VIP = '10.9.0.100'
const VIPS = { apiServerInternalIPs: [API_VIP] }
const SOON = { within: 10_000, every: 20 }
const NODES = ['n1', 'n2', 'n3', 'n4']
const CONTROL_PLANE = NODES.slice(0, 3)

/** Starts an operator that places the pods in a cluster whose VIPs are held. */
async function placing(change: Parameters<OperatorLab['operate']>[0] = {}): Promise<OperatorLab> {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure('BareMetal', VIPS))
  lab.operate({ operands: OPERANDS, probe: { ...lab.probe, host: '127.0.0.1' }, ...change })
  await eventually('the MachineConfigs', () => lab.api.store.list(CONFIGS).length === 2, {
    sight: () => lab.log,
    ...SOON,
  })
  lab.holders({ [API_VIP]: 'n1', [INGRESS_VIP]: 'n4' })
  return lab
}

/** Returns a file of a MachineConfig. */
function fileIn(lab: OperatorLab, role: string, path: string): string | undefined {
  const object = lab.api.store.get(CONFIGS, `98-${role}-hosted-net-services`) as
    | { spec: { config: { storage: { files: { path: string; contents: { source: string } }[] } } } }
    | undefined
  const found = object?.spec.config.storage.files.find((file) => file.path === `/etc/kubernetes/${path}`)
  return found && decodeURIComponent(found.contents.source)
}
const revisionOf = (text: string | undefined) => /holdfast\/revision: "(\w+)"/.exec(text ?? '')?.[1]

/** Shows the mirror pods that kubelets make from the written manifests. */
function runPods(lab: OperatorLab, nodes: readonly string[], tasks = ['coredns', 'haproxy']): void {
  for (const node of nodes)
    for (const task of tasks) {
      if (task === 'haproxy' && !CONTROL_PLANE.includes(node)) continue
      const revision = revisionOf(fileIn(lab, 'master', `manifests/${task}.yaml`)) ?? ''
      const app = task === 'haproxy' ? 'kni-infra-api-lb' : 'kni-infra-coredns'
      const labels = { app, 'app.kubernetes.io/name': 'holdfast' }
      lab.put('v1/pods', {
        ...{ apiVersion: 'v1', kind: 'Pod' },
        metadata: {
          ...{ name: `${task}-${node}`, namespace: 'openshift-kni-infra', labels },
          annotations: { 'holdfast/revision': revision },
        },
        spec: { nodeName: node },
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      })
    }
}

const pool = (lab: OperatorLab, name: string, updated: number, degraded = '') =>
  lab.put(POOLS, {
    ...{ apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfigPool', metadata: { name } },
    status: {
      ...{ machineCount: 3, updatedMachineCount: updated },
      conditions: degraded === '' ? [] : [{ type: 'Degraded', status: 'True', message: degraded }],
    },
  })
const progressing = (lab: OperatorLab, text: string) =>
  eventually(text, () => lab.condition('Progressing')?.message.includes(text) === true, {
    sight: () => [lab.status(), lab.log],
    ...SOON,
  })

test('A1.8: HAProxy and CoreDNS are written for both roles; Progressing names the nodes until each pod runs', async () => {
  const lab = await placing()
  pool(lab, 'master', 1)
  await lab.says('Progressing=True OperandRollout', 'Degraded=False AsExpected')
  expect(lab.condition('Progressing')?.message).toContain('coredns.yaml is rolled out; waiting for n1, n2, n3, n4')
  await progressing(lab, 'pool master: 1 of 3 nodes are updated')
  expect(lab.status()?.versions).toEqual([])
  expect(fileIn(lab, 'worker', 'manifests/coredns.yaml')).toContain(`--api-vips=${API_VIP}`)
  expect(fileIn(lab, 'worker', 'manifests/haproxy.yaml')).toBeUndefined()
  runPods(lab, NODES.slice(0, 2))
  await progressing(lab, 'haproxy.yaml is rolled out; waiting for n3')
  pool(lab, 'master', 2, 'node n3 is reporting drift')
  await lab.says('Degraded=True OperandsNotRolledOut')
  pool(lab, 'master', 3)
  runPods(lab, NODES)
  await lab.says('Progressing=False DeployComplete', 'Degraded=False AsExpected')
  expect(lab.status()?.versions).toEqual([{ name: 'operator', version: '4.99.0' }])
})

test('a MachineConfig that another client deletes is written again', async () => {
  const lab = await placing()
  await lab.says('Progressing=True OperandRollout')
  lab.api.store.remove(CONFIGS, '98-worker-hosted-net-services')
  await eventually('the MachineConfig', () => fileIn(lab, 'worker', 'manifests/coredns.yaml') !== undefined, {
    sight: () => lab.log,
    ...SOON,
  })
})

test('an API without MachineConfigs, or without the right to them, is Degraded AccessDenied, and the rest goes on', async () => {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure('BareMetal', VIPS))
  lab.refuse = ({ path, verb }) => (path.includes('machineconfigs') && verb === 'apply' ? 403 : undefined)
  lab.operate({ operands: OPERANDS, probe: { ...lab.probe, host: '127.0.0.1' } })
  await lab.says('Degraded=True AccessDenied')
  expect(lab.condition('Degraded')?.message).toContain(
    'MachineConfig 98-master-hosted-net-services cannot be written: 403',
  )
  lab.holders({ [API_VIP]: 'n1', [INGRESS_VIP]: 'n4' })
  await lab.says('Available=True AsExpected', 'Progressing=True OperandRollout')
  lab.refuse = () => undefined
  await lab.says('Degraded=False AsExpected')
})

test.each([
  [503, 'Progressing', 'OperandRollout', 'MachineConfig 98-master-hosted-net-services is not written yet: 503'],
  [409, 'Progressing', 'OperandRollout', 'MachineConfig 98-master-hosted-net-services is not written yet: 409'],
  [422, 'Degraded', 'InvalidConfiguration', 'MachineConfig 98-master-hosted-net-services cannot be written: 422'],
])('a write of a MachineConfig that is answered %i is reported in %s', async (code, type, reason, text) => {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure('BareMetal', VIPS))
  lab.refuse = ({ path, verb }) => (path.includes('machineconfigs/98-master') && verb === 'apply' ? code : undefined)
  lab.operate({ operands: OPERANDS, probe: { ...lab.probe, host: '127.0.0.1' } })
  await eventually('the object', () => lab.object() !== undefined, { sight: () => lab.log, ...SOON })
  lab.holders({ [API_VIP]: 'n1', [INGRESS_VIP]: 'n4' })
  await eventually(text, () => lab.condition(type)?.message.includes(text) === true, {
    sight: () => [lab.status(), lab.log],
    ...SOON,
  })
  await lab.says(`${type}=True ${reason}`)
  lab.refuse = () => undefined
  await eventually('the MachineConfig', () => fileIn(lab, 'master', 'manifests/haproxy.yaml') !== undefined, {
    sight: () => lab.log,
    ...SOON,
  })
  runPods(lab, NODES)
  await lab.says('Progressing=False DeployComplete', 'Degraded=False AsExpected')
})

test('on a platform without VIPs of the nodes no pod is placed', async () => {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure('AWS'))
  lab.operate({ operands: OPERANDS })
  await lab.says('Disabled=True UnsupportedPlatform')
  expect(lab.api.store.list(CONFIGS)).toEqual([])
})

test('O5, O6: HAProxy leaves the manifests only after all names have left it, and is back before they return', async () => {
  const nodes = { apiInt: API_VIP, haproxy: true }
  const order: string[] = []
  const external = '10.9.0.200'
  const lab = await placing({
    graceMs: 300,
    askExternal: async () => undefined,
    questions: {
      names: async () => [nodes.apiInt],
      isReady: async () => nodes.haproxy,
      isClosed: async () => !nodes.haproxy,
    },
  })
  runPods(lab, NODES)
  await lab.says('Progressing=False DeployComplete')
  /** The nodes follow what the API has: names by the phase, HAProxy by the file that the Machine Config Operator writes. */
  const follow = setInterval(() => {
    const { apiInt } = (lab.object()?.status as { loadBalancer?: { apiInt?: string } } | undefined)?.loadBalancer ?? {}
    const runs = revisionOf(fileIn(lab, 'master', 'manifests/haproxy.yaml')) !== undefined
    if ((apiInt ?? API_VIP) !== nodes.apiInt) order.push(`names ${apiInt ?? 'VIP'}`)
    if (runs !== nodes.haproxy) order.push(`haproxy ${runs ? 'on' : 'off'}`)
    Object.assign(nodes, { apiInt: apiInt ?? API_VIP, haproxy: runs })
  }, 20)
  try {
    lab.spec({ dns: { apiintIpAddress: external } })
    await progressing(lab, `the load balancer of the API is at ${external}`)
    expect(fileIn(lab, 'master', 'disabled-manifests/haproxy.yaml')).toContain('name: haproxy')
    lab.spec({})
    await eventually('the way back', () => order.length === 4 && lab.condition('Progressing')?.status === 'False', {
      sight: () => [order, lab.status(), lab.log],
      ...SOON,
    })
  } finally {
    clearInterval(follow)
  }
  expect(order).toEqual([`names ${external}`, 'haproxy off', 'haproxy on', 'names VIP'])
})

test('deploy/operands/rbac.yaml allows each request for the pods, and has no verb without a request', async () => {
  const folder = join(import.meta.dirname, '..', '..', '..', 'deploy')
  const rolesIn = (file: string) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8'))
      .map((one) => one.toJS())
      .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole') as ClusterRole[]
  const own = grantsIn(rolesIn('operands/rbac.yaml'))
  const base = grantsIn(rolesIn('operator/0000_70_cluster-hosted-net-services-operator_02_rbac.yaml'))
  const lab = await placing()
  await lab.says('Progressing=True OperandRollout')
  const requests = () => lab.api.requests.filter(({ verb }) => verb !== 'other')
  await eventually('each verb to be needed', () => unusedIn(own, requests()).length === 0, {
    sight: () => unusedIn(own, requests()),
    ...SOON,
  })
  expect(refusedIn([...base, ...own], requests())).toEqual([])
  expect(refusedIn(base, requests()).some((line) => line.includes('machineconfigs'))).toBe(true)
})
