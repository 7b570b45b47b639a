/** deploy/operator: the operator's requests compared with its RBAC, and its copy of the CustomResourceDefinition. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClusterRole, Role } from 'kubernetes-types/rbac/v1.js'
import { expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { OPERATOR_NAME } from '../../../src/cluster/decisions/operator/cluster-operator.ts'
import { OPERATOR_NAMESPACE } from '../../../src/cluster/decisions/operator/operator-settings.ts'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { LEASE_NAME, LeaderLease } from '../../../src/cluster/runtime/operator/leader-lease.ts'
import { StatusApi, sendBy } from '../../../src/cluster/runtime/status/status-api.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { API_VIP, INFRASTRUCTURES, INGRESS_VIP, infrastructure, OperatorLab } from '../../support/operator-lab.ts'
import { grantsIn, refusedIn, unusedIn } from '../../support/rbac.ts'

const DEPLOY = join(import.meta.dirname, '..', '..', '..', 'deploy')
const FOLDER = join(DEPLOY, 'operator')
const FILES = readdirSync(FOLDER).sort()
const documentsIn = (file: string) => parseAllDocuments(readFileSync(file, 'utf8')).map((one) => one.toJS())
const manifests = FILES.flatMap((file) => documentsIn(join(FOLDER, file)))
const allGrants = grantsIn(
  manifests.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole') as (ClusterRole | Role)[],
)
/** The right to use a SecurityContextConstraints is needed when the pod is created, by no request of the operator. */
const grants = allGrants.filter(({ rule }) => !rule.verbs.includes('use'))
const SOON = { within: 10_000, every: 20 }

test('the files sort before those of the Machine Config Operator (run level 80), and each object is in the release', () => {
  for (const file of FILES) expect(file).toMatch(/^0000_70_cluster-hosted-net-services-operator_\d\d_[a-z]+\.yaml$/)
  for (const { metadata } of manifests)
    expect(metadata.annotations['include.release.openshift.io/self-managed-high-availability']).toBe('true')
})

test('the CustomResourceDefinition is that of deploy/kubernetes', () => {
  const [ours] = manifests.filter(({ kind }) => kind === 'CustomResourceDefinition')
  const [shared] = documentsIn(join(DEPLOY, 'kubernetes', 'crd.yaml'))
  expect(ours.spec).toEqual(shared.spec)
  expect(ours.metadata.name).toBe(shared.metadata.name)
})

test('namespace, account and Lease have the names of the code', () => {
  const deployment = manifests.find(({ kind }) => kind === 'Deployment')
  expect(deployment.metadata.namespace).toBe(OPERATOR_NAMESPACE)
  const role = grants.find(({ rule }) => rule.resources?.includes('leases') && rule.resourceNames !== undefined)
  expect(role?.rule.resourceNames).toEqual([LEASE_NAME])
  expect(deployment.spec.template.spec.serviceAccountName).toBe(
    manifests.find(({ kind }) => kind === 'ServiceAccount').metadata.name,
  )
})

test('a pod on the network of its node has a port once: the old pod ends first; and OpenShift admits it', () => {
  const { spec } = manifests.find(({ kind }) => kind === 'Deployment')
  expect(spec.template.spec.hostNetwork).toBe(true)
  expect(spec.strategy).toEqual({ type: 'Recreate' })
  const name = spec.template.metadata.annotations['openshift.io/required-scc']
  const uses = allGrants.filter(({ rule }) => rule.verbs.includes('use'))
  expect(uses).toEqual([
    {
      namespace: OPERATOR_NAMESPACE,
      rule: {
        ...{ apiGroups: ['security.openshift.io'], resources: ['securitycontextconstraints'], verbs: ['use'] },
        resourceNames: [name],
      },
    },
  ])
})

test('the payload has the ClusterOperator, with the version that the Deployment gets', () => {
  const one = manifests.find(({ kind }) => kind === 'ClusterOperator')
  const deployment = manifests.find(({ kind }) => kind === 'Deployment')
  const [{ value }] = deployment.spec.template.spec.containers[0].env
  expect(one.metadata.name).toBe(OPERATOR_NAME)
  expect(one.status.versions).toEqual([{ name: 'operator', version: value }])
})

test('RBAC allows each request of the operator, and has no verb without a request', async () => {
  const lab = await OperatorLab.start()
  const client = new ClusterClient(async () => [{ server: `http://127.0.0.1:${lab.api.port}`, options: {} }])
  const lease = new LeaderLease({
    ...{ api: new StatusApi(sendBy(client)), self: 'a', namespace: OPERATOR_NAMESPACE },
    times: { duration: 1_000, renewEvery: 50, renewWithin: 900 },
    ...{ onLeading: () => {}, onOther: () => {}, onFailure: () => {} },
  })
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  const isOver = lease.run(ending.signal)
  lab.put(INFRASTRUCTURES, infrastructure())
  lab.operate()
  await lab.says('Progressing=True SyncingResources')
  lab.holders({ [API_VIP]: 'n1', [INGRESS_VIP]: 'n2' })
  await lab.says('Progressing=False DeployComplete')
  // The test's own requests for readyz name no resource.
  const requests = () => lab.api.requests.filter(({ verb }) => verb !== 'other')
  await eventually('each verb to be needed', () => unusedIn(grants, requests()).length === 0, {
    sight: () => unusedIn(grants, requests()),
    ...SOON,
  })
  ending.abort()
  await isOver
  expect(refusedIn(grants, requests())).toEqual([])
  expect(
    unusedIn(
      [...grants, { namespace: undefined, rule: { apiGroups: [''], resources: ['secrets'], verbs: ['get'] } }],
      requests(),
    ),
  ).toEqual(['get secrets'])
})
