/** The operator's term through its own client and watches, against the stand-in of the API: what ClusterOperator shows. */
import { expect, test } from 'vitest'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import type { NodeQuestions } from '../../../src/cluster/runtime/operator/node-questions.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import {
  API_VIP,
  INFRASTRUCTURES,
  INGRESS_VIP,
  infrastructure,
  OBJECTS,
  OPERATORS,
  OperatorLab,
} from '../../support/operator-lab.ts'

const SOON = { within: 10_000, every: 20 }
const GOOD = ['Available=True AsExpected', 'Progressing=False DeployComplete', 'Degraded=False AsExpected']
const HELD = { [API_VIP]: 'n1', [INGRESS_VIP]: 'n4' }

/** Starts a cluster whose VIPs are held, with an operator that has reported it. */
async function installed(): Promise<OperatorLab> {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure())
  lab.operate()
  await lab.says('Progressing=True SyncingResources')
  lab.holders(HELD)
  await lab.says(...GOOD)
  return lab
}

test('a new cluster gets HostedNetServices with the defaults, and ClusterOperator follows the first holders', async () => {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure())
  lab.operate()
  await lab.says('Progressing=True SyncingResources', 'Available=True AsExpected')
  expect(lab.object()?.spec).toEqual({
    ingressHa: 'Enabled',
    dns: { nodesResolution: 'Enabled', appsResolution: 'Enabled', apiintIpAddress: API_VIP },
  })
  expect(lab.status()?.versions).toEqual([])
  lab.holders(HELD)
  await lab.says(...GOOD, 'Upgradeable=True AsExpected', 'Disabled=False AsExpected')
  expect(lab.status()?.versions).toEqual([{ name: 'operator', version: '4.99.0' }])
  expect(lab.status()?.relatedObjects).toContainEqual({
    ...{ group: '', resource: 'namespaces', name: 'openshift-cluster-hosted-net-services' },
  })
  expect(lab.condition('Available')?.message).toBe(`API ${API_VIP} is held by n1; ingress ${INGRESS_VIP} is held by n4`)
  const deployed = 'Normal OperatorStatusChanged: Progressing changed to False (DeployComplete)'
  await eventually('the Event', () => lab.events().some((text) => text.startsWith(deployed)), {
    sight: () => lab.events(),
    ...SOON,
  })
  expect(lab.events()).toContain('Normal Created: created with the defaults of an installation')
})

test('Degraded names both holders of a VIP, the VIP without a holder, and kube-api that is silent through the VIP', async () => {
  const lab = await installed()
  lab.holders({ ...HELD, [API_VIP]: ['n1', 'n2'] })
  await lab.says('Degraded=True SeveralHolders', 'Available=True AsExpected')
  expect(lab.condition('Degraded')?.message).toBe(`API ${API_VIP} is held by n1 and n2`)
  lab.holders({ ...HELD, [INGRESS_VIP]: '' })
  await lab.says('Degraded=True NobodyHolds', 'Available=True AsExpected')
  lab.holders({ ...HELD, [API_VIP]: '' })
  await lab.says('Degraded=True NobodyHolds', 'Available=False NobodyHolds')
  lab.holders(HELD)
  await lab.says(...GOOD)
  // No program listens on port 9.
  lab.operate({ probe: { port: 9, everyMs: 50, withinMs: 500, failures: 3, scheme: 'http' } })
  await lab.says('Degraded=True ApiNotAnswering', 'Available=False ApiNotAnswering')
  lab.operate()
  await lab.says(...GOOD)
})

test.each([
  ['AWS', infrastructure('AWS'), 'UnsupportedPlatform'],
  ['None', infrastructure('None'), 'UnsupportedPlatform'],
  [
    "a user's load balancer",
    infrastructure('VSphere', { loadBalancer: { type: 'UserManaged' } }),
    'UserManagedLoadBalancer',
  ],
])('with %s ClusterOperator is Disabled, and nothing else is written or asked', async (_, object, reason) => {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, object)
  lab.operate()
  await lab.says(
    ...['Disabled=True', 'Available=True', 'Progressing=False', 'Degraded=False'].map((line) => `${line} ${reason}`),
  )
  await sleep(500)
  expect(lab.object()).toBeUndefined()
  expect(lab.api.requests.filter(({ path }) => path === '/readyz' || path.includes('/pods'))).toEqual([])
})

test('a spec that contradicts Infrastructure, and an agent with a strange VIP, are InvalidConfiguration', async () => {
  const lab = await installed()
  lab.spec({ ingressHa: 'perhaps' })
  await lab.says('Degraded=True InvalidConfiguration', 'Upgradeable=False InvalidConfiguration')
  lab.spec({ dns: { apiintIpAddress: INGRESS_VIP } })
  await lab.says('Degraded=True LoadBalancerRefused')
  lab.spec({ dns: { apiintIpAddress: 'fd00::5' } })
  await eventually('the family', () => lab.condition('Degraded')?.message.includes('ipv6') === true, {
    sight: () => lab.status(),
    ...SOON,
  })
  lab.spec({})
  await lab.says(...GOOD)
  lab.holders({ ...HELD, '10.9.0.77': 'n2' })
  await lab.says('Degraded=True InvalidConfiguration')
  expect(lab.condition('Degraded')?.message).toContain('10.9.0.77 is published by n2 and is no virtual address')
})

test('ingressHa Disabled: a missing ingress holder is no failure', async () => {
  const lab = await installed()
  lab.spec({ ingressHa: 'Disabled' })
  lab.holders({ [API_VIP]: 'n1', [INGRESS_VIP]: '' })
  await eventually('the message', () => lab.condition('Available')?.message.includes('is disabled') === true, {
    sight: () => lab.status(),
    ...SOON,
  })
  await lab.says(...GOOD)
})

test('a new term keeps the times of the conditions, and writes no other status', async () => {
  const lab = await installed()
  const before = lab.status()
  const changes = lab.api.asked('apply').length
  lab.operate()
  await eventually('the first write of the term', () => lab.api.asked('apply').length > changes, {
    sight: () => lab.log,
    ...SOON,
  })
  expect(lab.status()).toEqual(before)
  // A different client overwrites the conditions; the operator writes them again.
  const there = lab.api.store.get(OPERATORS, 'cluster-hosted-net-services')
  if (there === undefined) throw new Error('There is no ClusterOperator')
  lab.put(OPERATORS, { ...there, status: {} })
  await lab.says(...GOOD)
})

test('a deleted HostedNetServices is created again', async () => {
  const lab = await installed()
  lab.api.store.remove(OBJECTS, 'cluster')
  await eventually('the object', () => lab.object() !== undefined, { sight: () => lab.log, ...SOON })
  await lab.says('Progressing=True SyncingResources')
})

test.each(['list', 'watch', 'create'] as const)(
  'a refused %s is Degraded AccessDenied with the text of the API, and ends when it is allowed',
  async (verb) => {
    const lab = await OperatorLab.start()
    lab.put(INFRASTRUCTURES, infrastructure())
    let isRefused = true
    const refuses = (path: string) => path.includes('hostednetservices')
    lab.refuse = (request) => (isRefused && request.verb === verb && refuses(request.path) ? 403 : undefined)
    lab.operate()
    await lab.says('Degraded=True AccessDenied')
    expect(lab.condition('Degraded')?.message).toMatch(/hostednetservices.*403/)
    // A query differs in each attempt, and would be written each time.
    expect(lab.condition('Degraded')?.message).not.toContain('?')
    isRefused = false
    await lab.says('Degraded=False AsExpected')
  },
)

test('a webhook that times out delays only its own object', async () => {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure())
  const ends = lab.api.fail('create', { kind: 'status', code: 500 })
  lab.operate()
  await lab.says('Progressing=True SyncingResources')
  expect(lab.object()).toBeUndefined()
  expect(lab.log.filter((line) => line.startsWith('warn operatorNotWritten'))).toHaveLength(1)
  ends()
  await eventually('the object', () => lab.object() !== undefined, { sight: () => lab.log, ...SOON })
})

test('a pod of the Machine Config Operator beside the own one is waited for, and a crashing pod is Degraded', async () => {
  const lab = await installed()
  const pod = (name: string, app: string, isOurs: boolean, reason?: string) =>
    lab.put('v1/pods', {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: {
        ...{ name, namespace: 'openshift-kni-infra' },
        labels: { app, ...(isOurs ? { 'app.kubernetes.io/name': 'holdfast' } : {}) },
      },
      spec: { nodeName: 'n1' },
      status: { containerStatuses: [{ state: reason === undefined ? { running: {} } : { waiting: { reason } } }] },
    })
  pod('holdfast-n1', 'kni-infra-vrrp', true)
  pod('keepalived-n1', 'kni-infra-vrrp', false)
  await lab.says('Progressing=True SyncingResources')
  expect(lab.condition('Progressing')?.message).toBe(
    'pod keepalived-n1 of the Machine Config Operator still runs on n1',
  )
  lab.api.store.remove('v1/pods', 'keepalived-n1', 'openshift-kni-infra')
  await lab.says(...GOOD)
  pod('holdfast-n1', 'kni-infra-vrrp', true, 'CrashLoopBackOff')
  await lab.says('Degraded=True DeploymentCrashLooping')
})

/** Nodes whose answers a test sets: the address of api-int at all nodes, and whether HAProxy runs. */
function answeringNodes() {
  const nodes = { apiInt: API_VIP, haproxy: true, late: '' }
  const questions: NodeQuestions = {
    names: async (server) => (server === nodes.late ? 'no answer' : [nodes.apiInt]),
    isReady: async () => nodes.haproxy,
    isClosed: async () => !nodes.haproxy,
  }
  return { nodes, questions }
}
/** Address of an external load balancer; the answers there are a function of the test. */
const EXTERNAL = '10.9.0.200'
const phaseOf = (lab: OperatorLab) => (lab.object()?.status as { loadBalancer?: { phase: string } })?.loadBalancer
const enters = (lab: OperatorLab, phase: string) =>
  eventually(phase, () => phaseOf(lab)?.phase === phase, { sight: () => [phaseOf(lab), lab.log], ...SOON })

test('a switch to an external load balancer and back waits for the nodes in each phase, over restarts of the operator', async () => {
  const lab = await installed()
  const { nodes, questions } = answeringNodes()
  const askExternal = async () => undefined
  const restart = () => lab.operate({ questions, askExternal })
  restart()
  lab.spec({ dns: { apiintIpAddress: EXTERNAL } })
  await enters(lab, 'SwitchingNames')
  expect(phaseOf(lab)).toMatchObject({ apiInt: EXTERNAL, haproxy: 'Running' })
  await lab.says(
    'Progressing=True LoadBalancerSwitch',
    'Upgradeable=False LoadBalancerSwitch',
    'Degraded=False AsExpected',
  )
  restart()
  await eventually('the nodes', () => lab.condition('Progressing')?.message.endsWith('waiting for n1, n2, n3, n4'), {
    sight: () => lab.status(),
    ...SOON,
  })
  // One node is late: the phase stays.
  Object.assign(nodes, { apiInt: EXTERNAL, late: '10.9.0.12' })
  await eventually('one node', () => lab.condition('Progressing')?.message.endsWith('waiting for n2'), {
    sight: () => lab.status(),
    ...SOON,
  })
  nodes.late = ''
  await enters(lab, 'StoppingHAProxy')
  restart()
  await sleep(500)
  expect(phaseOf(lab)?.phase).toBe('StoppingHAProxy')
  nodes.haproxy = false
  await enters(lab, 'External')
  await lab.says('Progressing=False DeployComplete')
  expect(lab.condition('Progressing')?.message).toBe(`the load balancer of the API is at ${EXTERNAL}`)
  // An invalid spec during a restart must not lead back.
  lab.spec({ dns: { apiintIpAddress: 7 } })
  restart()
  await lab.says('Degraded=True InvalidConfiguration')
  expect(phaseOf(lab)?.phase).toBe('External')
  lab.spec({ dns: { apiintIpAddress: API_VIP } })
  await enters(lab, 'StartingHAProxy')
  expect(phaseOf(lab)).toMatchObject({ apiInt: EXTERNAL, haproxy: 'Running' })
  restart()
  nodes.haproxy = true
  await enters(lab, 'ReturningNames')
  nodes.apiInt = API_VIP
  await enters(lab, 'SelfHosted')
  await lab.says(...GOOD)
  expect(lab.object()?.status).toMatchObject({ holders: [{ node: 'n1' }, { node: 'n4' }] })
})

test('an external address at which kube-api does not answer changes nothing, and a silent one in force is named', async () => {
  const lab = await installed()
  const { nodes, questions } = answeringNodes()
  let why: string | undefined = 'ECONNREFUSED'
  lab.operate({ questions, askExternal: async () => why })
  lab.spec({ dns: { apiintIpAddress: EXTERNAL } })
  await lab.says('Degraded=True LoadBalancerRefused')
  expect(phaseOf(lab)).toMatchObject({ phase: 'Checking', haproxy: 'Running' })
  expect(phaseOf(lab)).not.toHaveProperty('apiInt')
  why = undefined
  Object.assign(nodes, { apiInt: EXTERNAL, haproxy: false })
  await enters(lab, 'External')
  why = 'ECONNREFUSED'
  await lab.says('Degraded=True LoadBalancerNotAnswering')
  expect(phaseOf(lab)?.phase).toBe('External')
})

test('an API with an older definition drops the phase: nothing is switched, and the condition says why', async () => {
  const lab = await installed()
  const old = new ClusterClient(async () => [{ server: `http://127.0.0.1:${lab.api.port}`, options: {} }])
  const client: Pick<ClusterClient, 'ask' | 'stream'> = {
    stream: (path, watching) => old.stream(path, watching),
    async ask(question, signal) {
      const answer = await old.ask(question, signal)
      if (!question.path.includes('/hostednetservices/cluster/status')) return answer
      return { ...Object(answer), status: {} }
    },
  }
  lab.operate({ client, questions: answeringNodes().questions, askExternal: async () => undefined })
  lab.spec({ dns: { apiintIpAddress: EXTERNAL } })
  await lab.says('Degraded=True DefinitionTooOld')
  await sleep(500)
  expect(phaseOf(lab)).not.toHaveProperty('apiInt')
})
