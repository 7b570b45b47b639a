/**
 * A real etcd and a real kube-apiserver read deploy/kubernetes. Every statement is what kubectl or the API server reports. No
 * kubelet runs here.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLab, type Lab } from '../../src/lab/lab.ts'
import { API_PROGRAMS, clusterPrograms, DEPLOY, RealApi } from './real-api.ts'
import { describeCluster } from './require-cluster.ts'

const GROUP = 'clusterhostednetservices.operator.io'
const ACCOUNT = 'system:serviceaccount:kube-system:holdfast-agent'
const KUBELET = ['--as=system:node:n1', '--as-group=system:nodes', '--as-group=system:authenticated']
const MANIFESTS = ['crd.yaml', 'rbac.yaml', 'rbac-kubelet.yaml', 'rbac-logging.yaml'].map((name) => join(DEPLOY, name))

const hosted = (spec: object, name = 'cluster') => ({
  ...{ apiVersion: `${GROUP}/v1alpha1`, kind: 'HostedNetServices', metadata: { name } },
  spec,
})

type Status = {
  readonly apiServerInternalIpOwner?: string
  readonly ingressIpOwner?: string
  readonly holders?: readonly { readonly address: string; readonly node: string }[]
}

describeCluster(
  'a real API server',
  () => {
    let lab: Lab
    let api: RealApi
    const kubectl = (...argv: string[]) => api.kubectl(...argv)
    const statusNow = (): Status => {
      const { status } = api.get('hostednetservices', 'cluster')
      return typeof status === 'object' && status !== null ? status : {}
    }

    beforeAll(async () => {
      lab = createLab({ routers: 2, clients: ['client', 'api'] })
      api = new RealApi(lab, lab.host('api'), clusterPrograms(API_PROGRAMS) ?? '')
      await api.start()
    }, 180_000)
    afterAll(() => lab?.destroy())

    test('the manifests of deploy/kubernetes are accepted in the order of docs/hosted-net-services.md', () => {
      // The object needs its resource first: kubectl looks all kinds up before it applies the first one.
      expect(kubectl('apply', '-f', join(DEPLOY, 'crd.yaml'), '-f', join(DEPLOY, 'cluster.yaml')).ok).toBe(false)
      expect(kubectl('apply', ...MANIFESTS.flatMap((file) => ['-f', file]))).toMatchObject({ ok: true })
      expect(
        kubectl('wait', '--for=condition=Established', '--timeout=20s', `crd/hostednetservices.${GROUP}`),
      ).toMatchObject({ ok: true })
      expect(kubectl('apply', '-f', join(DEPLOY, 'cluster.yaml'))).toMatchObject({ ok: true })
      const { status } = api.get('crd', `hostednetservices.${GROUP}`) as {
        status: { conditions: { type: string; status: string }[] }
      }
      expect(status.conditions.filter(({ type }) => type === 'NonStructuralSchema')).toEqual([])
      expect(kubectl('get', 'hns').text).toMatch(/NAME\s+API\s+INGRESS\s+AVAILABLE\s+DEGRADED/)
      expect(kubectl('explain', 'hns.spec.ingressHa').text).toContain(
        'Whether the ingress addresses move between nodes',
      )
    })

    test('an empty spec gets its defaults', () => {
      expect(api.apply(hosted({}))).toMatchObject({ ok: true })
      expect(api.get('hns', 'cluster').spec).toEqual({
        ingressHa: 'Enabled',
        dns: { nodesResolution: 'Enabled', appsResolution: 'Enabled' },
      })
    })

    test.each([
      ['another name', hosted({}, 'second'), /its name is cluster/],
      ['an unknown word', hosted({ ingressHa: 'enabled' }), /Unsupported value: "enabled"/],
      ['an address with other characters', hosted({ dns: { apiintIpAddress: 'lb.example' } }), /should match/],
      ['an unknown field', hosted({ ingressHA: 'Disabled' }), /unknown field "spec.ingressHA"/],
      [
        'the group with capitals',
        { ...hosted({}), apiVersion: 'clusterHostedNetServices.operator.io/v1alpha1' },
        /no matches for kind/,
      ],
      ['another version', { ...hosted({}), apiVersion: `${GROUP}/v1` }, /no matches for kind/],
    ])('an object with %s is refused, and the reason names it', (_, object, reason) => {
      const { ok, text } = api.apply(object)
      expect(ok).toBe(false)
      expect(text).toMatch(reason)
    })

    // Each line: verb, resource, further arguments, and whether the identity may do it.
    const ALLOWED: readonly (readonly [string, string, readonly string[], boolean])[] = [
      ['list', 'nodes', [], true],
      ['watch', 'nodes', [], true],
      ['delete', 'nodes', [], false],
      ['get', `hostednetservices.${GROUP}/cluster`, [], true],
      ['update', `hostednetservices.${GROUP}/cluster`, [], false],
      ['patch', `hostednetservices.${GROUP}/cluster`, ['--subresource=status'], true],
      ['patch', `hostednetservices.${GROUP}/other`, ['--subresource=status'], false],
      ['delete', `hostednetservices.${GROUP}/cluster`, [], false],
      ['create', 'events', ['--namespace=default'], true],
      ['get', 'secrets', ['--namespace=kube-system'], false],
      ['create', 'pods', ['--subresource=exec', '--namespace=kube-system'], false],
      ['get', 'configmaps/logging', ['--namespace=default'], true],
      ['get', 'configmaps/other', ['--namespace=default'], false],
    ]
    test.each([
      ['the service account of the agent', [`--as=${ACCOUNT}`]],
      ['a kubelet', KUBELET],
    ])('%s may do what docs/hosted-net-services.md lists, and no more', (_, identity) => {
      const may = (verb: string, resource: string, more: readonly string[]) =>
        /^yes$/m.test(kubectl('auth', 'can-i', verb, resource, ...more, ...identity).text)
      const answers = ALLOWED.map(([verb, resource, more]) => [verb, resource, more, may(verb, resource, more)])
      expect(answers).toEqual(ALLOWED)
    })

    test('a kubelet without rbac-kubelet.yaml reads no other node', () => {
      expect(kubectl('delete', 'clusterrolebinding', 'holdfast-agent-kubelet').ok).toBe(true)
      expect(kubectl('auth', 'can-i', 'list', 'nodes', ...KUBELET).text).toMatch(/^no/m)
      expect(kubectl('apply', '-f', join(DEPLOY, 'rbac-kubelet.yaml')).ok).toBe(true)
    })

    test('two managers each keep their fields of the status', () => {
      const manager = (name: string, address: string) => {
        const status = { holders: [{ address, node: name }] }
        const { spec: _, ...object } = hosted({})
        return api.apply({ ...object, status }, '--server-side', '--subresource=status', `--field-manager=${name}`)
      }
      expect(manager('first', '10.0.0.1')).toMatchObject({ ok: true })
      expect(manager('second', '10.0.0.2')).toMatchObject({ ok: true })
      expect(statusNow().holders).toEqual([
        { address: '10.0.0.1', node: 'first' },
        { address: '10.0.0.2', node: 'second' },
      ])
      // The entry of another manager is a conflict, unless it is taken over by force.
      const { ok, text } = manager('third', '10.0.0.1')
      expect([ok, text]).toEqual([false, expect.stringMatching(/conflict with "first"/)])
      // A write to the spec does not touch the status.
      expect(api.apply(hosted({ ingressHa: 'Enabled' })).ok).toBe(true)
      expect(statusNow().holders).toHaveLength(2)
      kubectl('delete', 'hns', 'cluster')
      expect(api.apply(hosted({})).ok).toBe(true)
    })
  },
  API_PROGRAMS,
)
