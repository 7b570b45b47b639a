/**
 * deploy/kubernetes compared with Kubernetes' own published types (kubernetes-types) and the rules for schemas of custom resources. The
 * objects that the agent writes are compared with that schema, and the agent's requests with its RBAC.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CustomResourceDefinition } from 'kubernetes-types/apiextensions/v1.js'
import type { ClusterRole, Role } from 'kubernetes-types/rbac/v1.js'
import { afterAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { datedConditions } from '../../../src/cluster/decisions/status/condition.ts'
import { failoverEvent } from '../../../src/cluster/decisions/status/failover.ts'
import { findingsOf } from '../../../src/cluster/decisions/status/finding.ts'
import { readIntent } from '../../../src/cluster/decisions/status/intent.ts'
import { GROUP, KIND, PLURAL, readPublished, VERSION } from '../../../src/cluster/decisions/status/published-status.ts'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { watchDebugFlag } from '../../../src/cluster/runtime/api/flag-watch.ts'
import { watchInfrastructure } from '../../../src/cluster/runtime/api/infrastructure-watch.ts'
import { watchNodes } from '../../../src/cluster/runtime/api/node-watch.ts'
import { managerOf } from '../../../src/cluster/runtime/status/status-api.ts'
import { StatusDuty } from '../../../src/cluster/runtime/status/status-duty.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeEngine } from '../../support/fake-engine.ts'
import { KubeApi } from '../../support/kube-api/server.ts'
import type { KubeObject } from '../../support/kube-api/store.ts'
import { type Grant, grantsIn, refusedIn, unusedIn } from '../../support/rbac.ts'
import { faultsOf, judge, prunedFrom, type Schema } from '../../support/structural-schema.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const FOLDER = join(ROOT, 'deploy', 'kubernetes')
const BUILD = join(ROOT, 'build')
mkdirSync(BUILD, { recursive: true })
const workshop = mkdtempSync(join(BUILD, 'kubernetes-'))
afterAll(() => rmSync(workshop, { recursive: true, force: true }))

type Manifest = { readonly apiVersion: string; readonly kind: string; readonly metadata: { readonly name: string } }
const manifestsIn = (file: string): readonly Manifest[] =>
  parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((one) => one.toJS())
const crd: CustomResourceDefinition = parseAllDocuments(readFileSync(join(FOLDER, 'crd.yaml'), 'utf8'))[0]?.toJS()
const version = crd.spec.versions[0]
const schema = version?.schema?.openAPIV3Schema as unknown as Schema

const TYPES: Readonly<Record<string, string>> = {
  CustomResourceDefinition: 'apiextensions/v1',
  ClusterRole: 'rbac/v1',
  Role: 'rbac/v1',
  ClusterRoleBinding: 'rbac/v1',
  RoleBinding: 'rbac/v1',
  ServiceAccount: 'core/v1',
  Event: 'core/v1',
}

/**
 * Returns the schema without extensions of JSON Schema, which the published types do not have; faultsOf() judges the
 * extensions.
 */
const isTyped = (key: string, value: unknown): unknown => (key.startsWith('x-kubernetes-') ? undefined : value)

/** Returns the compiler's errors about a value, which is written as a literal of its Kubernetes type. */
function complaintsAbout(values: Readonly<Record<string, { readonly kind: string }>>): string {
  for (const [name, value] of Object.entries(values))
    writeFileSync(
      join(workshop, `${name}.ts`),
      `import type { ${value.kind} } from 'kubernetes-types/${TYPES[value.kind]}.js'\nexport const it: ${value.kind} = ${JSON.stringify(value, isTyped, 1)}\n`,
    )
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'),
      ...['--ignoreConfig', '--noEmit', '--strict', '--pretty', 'false', '--skipLibCheck', '--types', ''],
      ...['--module', 'nodenext', '--target', 'es2022'],
      ...Object.keys(values).map((name) => join(workshop, `${name}.ts`)),
    ],
    { encoding: 'utf8', cwd: ROOT, timeout: 60_000 },
  )
  if (status === null) throw new Error(`Cannot judge: ${stdout}${stderr}`)
  return status === 0 ? '' : `${stdout}${stderr}`
}

const FAILOVER = failoverEvent(
  {
    vip: { address: address('10.0.0.200'), service: 'api', index: 0 },
    ...{ at: '2026-11-22T12:00:00.123Z', from: 'node-1', to: 'node-2', reason: 'activeSilent' },
  },
  'uid-1',
)

/** Namespace of the agent's pod, in which rbac-logging.yaml is applied. */
const INFRA = 'openshift-kni-infra'
const SOON = { within: 10_000, every: 20 }

/** Returns all RBAC rules of the agent. */
const grants = (): readonly Grant[] =>
  grantsIn(['rbac.yaml', 'rbac-logging.yaml'].flatMap(manifestsIn) as unknown as (ClusterRole | Role)[], INFRA)

describe('deploy/kubernetes', () => {
  test('has only fields that Kubernetes has, and a typing error is found', { timeout: 60_000 }, () => {
    const right = Object.fromEntries(
      readdirSync(FOLDER)
        .flatMap(manifestsIn)
        .filter(({ kind }) => kind !== KIND)
        .map((manifest, i) => [`right${i}`, manifest]),
    )
    expect(Object.keys(right)).toHaveLength(9)
    expect(complaintsAbout({ ...right, event: FAILOVER })).toBe('')
    const wrong = { ...manifestsIn('rbac.yaml')[0], kind: 'ClusterRole', rulez: [] }
    expect(complaintsAbout({ wrong })).toMatch(/rulez.*does not exist/)
  })

  test('has a DNS name as its group, as an API server demands, and the names of the code', () => {
    expect(crd.spec.group).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/)
    expect(crd.metadata?.name).toBe(`${PLURAL}.${GROUP}`)
    expect([crd.spec.group, version?.name, crd.spec.names.kind, crd.spec.names.plural]).toEqual([
      GROUP,
      VERSION,
      KIND,
      PLURAL,
    ])
    expect(crd.spec.scope).toBe('Cluster')
    expect(version?.subresources).toEqual({ status: {} })
    // A validation rule of the schema may read nothing of the metadata except the name.
    expect(schema['x-kubernetes-validations']).toMatchObject([{ rule: "self.metadata.name == 'cluster'" }])
  })

  test('has a structural schema, and a mistake in the schema is found', () => {
    expect(faultsOf(schema)).toEqual([])
    expect(faultsOf({ type: 'object', properties: { a: {} } })).toEqual(['.: type is missing'.replace('.:', '.a:')])
    expect(faultsOf({ type: 'object', default: 1 })).toEqual(['.: its default is none of its values'])
    const list = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }
    expect(faultsOf({ ...list, items: { type: 'object', properties: { k: { type: 'string' } } } })).toEqual([
      '.: key k is no required scalar',
    ])
  })

  const objectOf = (spec: unknown) => ({
    apiVersion: `${GROUP}/${VERSION}`,
    kind: KIND,
    metadata: { name: 'cluster' },
    spec,
  })

  test.each([
    ['the one that is shipped', manifestsIn('cluster.yaml')[0], true],
    ['an empty spec', objectOf({}), true],
    ['an external load balancer', objectOf({ dns: { apiintIpAddress: 'fd00::5' } }), true],
    ['a toggle in small letters', objectOf({ ingressHa: 'disabled' }), false],
    ['a host name', objectOf({ dns: { apiintIpAddress: 'api.example.com' } }), false],
    ['a number', objectOf({ dns: { nodesResolution: 1 } }), false],
  ])('the API and the agent think the same of %s', (_, object, good) => {
    expect(judge(schema, object).ok).toBe(good)
    // The schema accepts a host name, and the agent refuses the host name with a reason (balancer.ts).
    const isName = JSON.stringify(object).includes('api.example.com')
    expect('problems' in readIntent(object)).toBe(!good && !isName)
  })

  test('accepts the objects that the agent writes, and they are read back without a difference', () => {
    const around = {
      probe: { result: 'answers' },
      ingressDisabled: false,
      progressing: undefined,
      refused: [],
      notManaged: undefined,
    } as const
    const holding = {
      address: address('10.0.0.200'),
      service: 'api',
      node: 'node-1',
      others: ['node-2'],
      by: 'node-1',
    } as const
    const holder = {
      ...{ address: address('10.0.0.200'), service: 'API', node: 'node-1', since: '2026-11-22T12:00:00.123Z' },
      ...{ saidBy: 'node-1', alsoAnswering: ['node-2', '02:00:00:00:00:01'] },
    } as const
    const conditions = datedConditions(findingsOf([holding], around), [], Date.parse('2026-11-22T12:00:00.9Z'), 3)
    const status = {
      ...{ apiServerInternalIpOwner: 'node-1', ingressIpOwner: '', holders: [holder] },
      ...{ observedGeneration: 3, conditions },
    }
    const object = { ...objectOf({}), status }
    expect(judge(schema, object).problems).toEqual([])
    expect(
      prunedFrom(schema.properties && { ...schema, properties: { status: (schema.properties as Schema).status } }, {
        status,
      }),
    ).toEqual([])
    expect(readPublished(object)).toMatchObject(status)
    expect(prunedFrom(schema, { status: { holders: [{ saidby: 1 }] } })).toEqual(['.status.holders[].saidby'])
    // One of two holders gives the address up. The rest of the status must be valid, or the API refuses the change.
    expect(
      judge(schema, { ...objectOf({}), status: { holders: [{ address: '10.0.0.200', service: 'API' }] } }).ok,
    ).toBe(true)
    expect(
      readPublished({ metadata: {}, status: { holders: [{ address: '10.0.0.200', service: 'API' }] } })?.holders,
    ).toEqual([])
  })

  test('allows each request of the agent by RBAC, and has no rule without a request', async () => {
    const api = await new KubeApi({ kinds: { [`${GROUP}/${VERSION}/${PLURAL}`]: KIND } }).start()
    api.store.put(`${GROUP}/${VERSION}/${PLURAL}`, manifestsIn('cluster.yaml')[0] as unknown as KubeObject)
    const engine = await new FakeEngine(join(workshop, 'engine.sock')).start()
    const vip = address('127.0.0.1')
    engine.sees({ address: vip, holder: 'self' })
    const client = new ClusterClient(async () => [{ server: `http://127.0.0.1:${api.port}`, options: {} }])
    const ending = new AbortController()
    const duty = new StatusDuty({
      ...{ self: 'node-1', vips: [{ address: vip, service: 'api', index: 0 }], socket: engine.socket, client },
      probe: { port: 9, everyMs: 50, withinMs: 1_000, failures: 3, scheme: 'http' },
      ...{ onIntent: () => {}, onNews: () => {}, onFailure: () => {} },
    })
    const quiet = { onFailure: () => {}, onPhase: () => {}, onDebug: () => {}, take: () => {} }
    const watches = [
      watchNodes(client, quiet, ending.signal),
      watchDebugFlag(client, INFRA, quiet, ending.signal),
      watchInfrastructure(client, () => {}, ending.signal),
    ]
    await eventually('the agent to follow the journal', () => engine.listeners > 0, {
      sight: () => engine.listeners,
      ...SOON,
    })
    engine.tell({ kind: 'transition', from: 'Backup', to: 'Active', reason: 'activeReleased', addresses: [vip] })
    // The agent lists and watches; a get is one of the rights that kubectl needs.
    const unused = () => unusedIn(grants(), api.requests).filter((text) => !text.startsWith('get '))
    await eventually('each rule to be needed', () => unused().length === 0, { sight: unused, ...SOON })
    duty.end()
    ending.abort()
    await Promise.all([...watches, engine.kill(), api.stop()])
    expect(refusedIn(grants(), api.requests)).toEqual([])
  })

  test("has room for the field manager's name of any node", () => {
    expect(managerOf('node-1')).toBe('holdfast-agent/node-1')
    const [one, other] = ['a', 'b'].map((last) => managerOf(`${'n'.repeat(252)}${last}`))
    expect(one).toHaveLength(128)
    expect(one).not.toBe(other)
  })
})
