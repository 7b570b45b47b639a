/**
 * `holdfast operator` as a process with the rights of deploy/operator, against a real kube-apiserver. Small
 * CustomResourceDefinitions take the place of OpenShift's own kinds. Every statement is what the API server shows, or a line of
 * the operator. No kubelet runs here.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { holdfastProgram, packageRoot } from '../../src/lab/installation.ts'
import { createLab, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { API_PROGRAMS, clusterPrograms, RealApi } from './real-api.ts'
import { describeCluster } from './require-cluster.ts'

const NAMESPACE = 'openshift-cluster-hosted-net-services'
const NAME = 'cluster-hosted-net-services-operator'
const FOLDER = join(packageRoot(), 'deploy')
const OPERATOR_FILES = readdirSync(join(FOLDER, 'operator'))
  .filter((file) => /_0[0-3]_/.test(file))
  .sort()
  .map((file) => join(FOLDER, 'operator', file))
const SOON = { within: 60_000, every: 500 }

/** Returns a small definition of one of OpenShift's kinds. */
const definition = (group: string, version: string, kind: string, plural: string) => ({
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  metadata: { name: `${plural}.${group}` },
  spec: {
    ...{ group, scope: 'Cluster', names: { kind, plural, singular: kind.toLowerCase() } },
    versions: [
      {
        ...{ name: version, served: true, storage: true },
        subresources: kind === 'ClusterOperator' ? { status: {} } : {},
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
})
const KINDS = [
  definition('config.openshift.io', 'v1', 'ClusterOperator', 'clusteroperators'),
  definition('config.openshift.io', 'v1', 'Infrastructure', 'infrastructures'),
  definition('machineconfiguration.openshift.io', 'v1', 'MachineConfig', 'machineconfigs'),
  definition('machineconfiguration.openshift.io', 'v1', 'MachineConfigPool', 'machineconfigpools'),
]

type Condition = { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }

describeCluster(
  'the operator with a real API server',
  () => {
    let lab: Lab
    let api: RealApi
    const operators: LoggedProcess[] = []

    const applied = (object: object, ...argv: string[]) =>
      expect(api.apply(object, ...argv)).toMatchObject({ ok: true })
    const conditions = (): readonly Condition[] => {
      const { ok, text } = api.kubectl('get', 'clusteroperator', 'cluster-hosted-net-services', '-o', 'json')
      return ok ? (JSON.parse(text).status?.conditions ?? []) : []
    }
    const says = (line: string) =>
      eventually(line, () => conditions().some(({ reason, status, type }) => `${type}=${status} ${reason}` === line), {
        sight: () => [conditions(), operators.flatMap(({ lines }) => lines.slice(-8).map(({ text }) => text))],
        ...SOON,
      })

    /** Starts an operator with a token of its ServiceAccount, as its pod has one. */
    function operate(port: number): LoggedProcess {
      const token = api.kubectl('create', 'token', NAME, '--namespace', NAMESPACE)
      expect(token).toMatchObject({ ok: true })
      const file = api.file(`operator-${port}.conf`)
      const ca = readFileSync(api.file('ca.crt')).toString('base64')
      const cluster = { server: api.server, 'certificate-authority-data': ca }
      writeFileSync(
        file,
        JSON.stringify({
          ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'o' },
          contexts: [{ name: 'o', context: { cluster: 'c', user: 'u' } }],
          ...{ clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user: { token: token.text } }] },
        }),
      )
      const argv = ['operator', file, '--json', '--place-operands', `--listen=127.0.0.1:${port}`]
      const images = { HOLDFAST_IMAGE: 'r/a:1', HOLDFAST_OPENSHIFT_IMAGE: 'r/b:1', COREDNS_IMAGE: 'r/c:1' }
      const started = new LoggedProcess(lab, lab.host('api'), [holdfastProgram(), ...argv], {
        ...{ ...images, POD_NAMESPACE: NAMESPACE, RELEASE_VERSION: '4.99.0' },
      })
      operators.push(started)
      return started
    }
    const saw = (one: LoggedProcess, code: string, text = '') =>
      one.lines.some((line) => line.text.includes(`"event":"${code}"`) && line.text.includes(text))
    const waits = (one: LoggedProcess, code: string, text = '') =>
      eventually(`${code} ${text}`, () => saw(one, code, text), {
        sight: () => one.lines.slice(-8).map((line) => line.text),
        ...SOON,
      })

    beforeAll(async () => {
      lab = createLab({ routers: 1, clients: ['api'] })
      api = new RealApi(lab, lab.host('api'), clusterPrograms(API_PROGRAMS) ?? '')
      await api.start()
      for (const kind of KINDS) applied(kind)
      const files = [...OPERATOR_FILES, join(FOLDER, 'operands', 'rbac.yaml')]
      expect(api.kubectl('apply', '--server-side', ...files.flatMap((file) => ['-f', file]))).toMatchObject({
        ok: true,
      })
      for (const crd of [
        'clusteroperators.config.openshift.io',
        'hostednetservices.clusterhostednetservices.operator.io',
      ])
        api.kubectl('wait', '--for=condition=Established', '--timeout=30s', `crd/${crd}`)
      applied({
        ...{ apiVersion: 'config.openshift.io/v1', kind: 'Infrastructure', metadata: { name: 'cluster' } },
        status: {
          apiServerInternalURI: 'https://api-int.ostest.example.com:6443',
          platformStatus: {
            type: 'BareMetal',
            baremetal: { apiServerInternalIPs: [lab.host('api').address], ingressIPs: ['10.9.0.101'] },
          },
        },
      })
    }, 240_000)
    afterAll(async () => {
      for (const each of operators) each.signal('SIGKILL')
      await lab?.destroy()
    })

    test('the manifest of the ClusterOperator is accepted, and the operator writes the status beside it', async () => {
      const [file = ''] = readdirSync(join(FOLDER, 'operator')).filter((name) => name.includes('_04_'))
      const [object] = parseAllDocuments(readFileSync(join(FOLDER, 'operator', file), 'utf8')).map((one) => one.toJS())
      applied(object, '--server-side', '--field-manager=cluster-version-operator')
      const first = operate(9658)
      await waits(first, 'operatorLeads')
      await says('Progressing=True SyncingResources')
      expect(api.get('hns', 'cluster').spec).toMatchObject({ dns: { apiintIpAddress: lab.host('api').address } })
    })

    test('with the rights of deploy/operands the MachineConfigs of both roles are written, and applied again after a deletion', async () => {
      const configs = () => api.kubectl('get', 'machineconfigs', '-o', 'name').text.split('\n').sort()
      const both = ['master', 'worker'].map(
        (role) => `machineconfig.machineconfiguration.openshift.io/98-${role}-hosted-net-services`,
      )
      await eventually('the MachineConfigs', () => configs().join() === both.join(), { sight: configs, ...SOON })
      const { metadata } = api.get('machineconfig', '98-master-hosted-net-services') as {
        metadata: { labels: Record<string, string> }
      }
      expect(metadata.labels).toEqual({ 'machineconfiguration.openshift.io/role': 'master' })
      expect(api.kubectl('delete', 'machineconfig', '98-worker-hosted-net-services').ok).toBe(true)
      await eventually('the deleted one', () => configs().join() === both.join(), {
        sight: configs,
        ...{ within: 120_000, every: 500 },
      })
    }, 180_000)

    test('the rights are those of the table, and no more', () => {
      const identity = `--as=system:serviceaccount:${NAMESPACE}:${NAME}`
      const may = (...argv: string[]) => /^yes$/m.test(api.kubectl('auth', 'can-i', ...argv, identity).text)
      expect(may('patch', 'machineconfigs/98-master-hosted-net-services')).toBe(true)
      expect(may('patch', 'machineconfigs/00-master')).toBe(false)
      expect(may('delete', 'machineconfigs/98-master-hosted-net-services')).toBe(false)
      expect(may('update', 'hostednetservices/cluster')).toBe(false)
      expect(may('get', 'secrets', '--all-namespaces')).toBe(false)
    })

    test('of two operators one works; the other one follows immediately after a SIGTERM', async () => {
      const [first] = operators
      const second = operate(9660)
      await waits(second, 'operatorWaits')
      first?.signal('SIGTERM')
      await first?.exited
      await waits(second, 'operatorLeads')
    })

    test('a right that is taken away is AccessDenied, and ends when it is given back', async () => {
      const rbac = OPERATOR_FILES.find((file) => file.includes('_02_')) ?? ''
      const without = parseAllDocuments(readFileSync(rbac, 'utf8'))
        .map((one) => one.toJS())
        .find(({ kind }) => kind === 'ClusterRole')
      const rules = without.rules.filter(
        ({ resources }: { resources: string[] }) => !resources.includes('hostednetservices/status'),
      )
      applied({ ...without, rules }, '--server-side', '--force-conflicts')
      api.kubectl('delete', 'hns', 'cluster')
      await says('Degraded=True AccessDenied')
      expect(api.kubectl('apply', '--server-side', '--force-conflicts', '-f', rbac).ok).toBe(true)
      await says('Degraded=False AsExpected')
    }, 180_000)

    test('a definition without status.loadBalancer is DefinitionTooOld', async () => {
      const file = OPERATOR_FILES.find((name) => name.includes('_01_')) ?? ''
      const [crd] = parseAllDocuments(readFileSync(file, 'utf8')).map((one) => one.toJS())
      delete crd.spec.versions[0].schema.openAPIV3Schema.properties.status.properties.loadBalancer
      applied(crd, '--server-side', '--force-conflicts')
      // The API server needs a moment until the new schema is in force.
      await eventually('the older schema', () => !api.kubectl('explain', 'hns.status.loadBalancer').ok, {
        sight: () => '',
        ...SOON,
      })
      api.kubectl('delete', 'hns', 'cluster')
      await says('Degraded=True DefinitionTooOld')
      expect(api.kubectl('apply', '--server-side', '--force-conflicts', '-f', file).ok).toBe(true)
      await eventually('the schema', () => api.kubectl('explain', 'hns.status.loadBalancer').ok, {
        sight: () => '',
        ...SOON,
      })
      api.kubectl('delete', 'hns', 'cluster')
      await says('Degraded=False AsExpected')
    }, 180_000)

    test('a deleted ServiceAccount leads to a line and a metric within a minute', async () => {
      const last = operators.at(-1)
      if (last === undefined) throw new Error('No operator runs')
      expect(api.kubectl('delete', 'serviceaccount', NAME, '--namespace', NAMESPACE).ok).toBe(true)
      await waits(last, 'operatorNotWritten', '401')
      const [program = '', ...argv] = lab.commandOn(lab.host('api'), ['curl', '-s', 'http://127.0.0.1:9660/metrics'])
      const { spawnSync } = await import('node:child_process')
      const metrics = () => spawnSync(program, argv, { encoding: 'utf8' }).stdout
      await eventually('the metric', () => /api_failures_total\{kind="unauthorized"\} [1-9]/.test(metrics()), {
        sight: () =>
          metrics()
            .split('\n')
            .filter((line) => /failures_total|writes_total/.test(line)),
        ...SOON,
      })
    }, 180_000)
  },
  API_PROGRAMS,
)
