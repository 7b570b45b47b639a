/** Infrastructure as the operator reads it: VIPs, the namespace of the pods, and platforms without an operand. */
import { expect, test } from 'vitest'
import { readClusterPlan } from '../../../../src/cluster/decisions/operator/cluster-plan.ts'

const plan = (type: string, place: object | undefined, status: object = {}) =>
  readClusterPlan({ status: { platformStatus: { type, [type.toLowerCase()]: place }, ...status } })
const VIPS = { apiServerInternalIPs: ['10.0.0.5', 'fd00::5'], ingressIPs: ['10.0.0.4'] }

test.each([
  ['BareMetal', VIPS, undefined, 'openshift-kni-infra'],
  ['VSphere', VIPS, undefined, 'openshift-vsphere-infra'],
  ['OpenStack', VIPS, undefined, 'openshift-openstack-infra'],
  ['Ovirt', VIPS, undefined, 'openshift-ovirt-infra'],
  ['Nutanix', VIPS, undefined, 'openshift-nutanix-infra'],
  ['BareMetal', { ...VIPS, loadBalancer: { type: 'UserManaged' } }, 'UserManagedLoadBalancer', 'openshift-kni-infra'],
  ['VSphere', {}, 'UserManagedLoadBalancer', 'openshift-vsphere-infra'],
  ['AWS', {}, 'UnsupportedPlatform', undefined],
  ['None', undefined, 'UnsupportedPlatform', undefined],
  ['External', {}, 'UnsupportedPlatform', undefined],
  ['SomethingNew', {}, 'UnsupportedPlatform', undefined],
])('%s with %j: %s', (type, place, reason, namespace) => {
  expect(plan(type, place)).toMatchObject({ platform: type, infraNamespace: namespace, problems: [] })
  expect(plan(type, place)?.elsewhere?.reason).toBe(reason)
})

test('VIPs come from the lists, otherwise from the older fields', () => {
  expect(plan('BareMetal', VIPS)).toMatchObject({ apiVips: ['10.0.0.5', 'fd00::5'], ingressVips: ['10.0.0.4'] })
  expect(plan('BareMetal', { apiServerInternalIP: '10.0.0.5', ingressIP: '10.0.0.4' })).toMatchObject({
    ...{ apiVips: ['10.0.0.5'], ingressVips: ['10.0.0.4'] },
  })
  const empty = { apiServerInternalIPs: [], ingressIPs: [] }
  expect(plan('BareMetal', { ...empty, apiServerInternalIP: '10.0.0.5', ingressIP: '10.0.0.4' })).toMatchObject({
    ...{ apiVips: ['10.0.0.5'], ingressVips: ['10.0.0.4'], problems: [] },
  })
})

test('an address that is none, and no VIP of the API, are problems with a path', () => {
  expect(plan('BareMetal', { ...VIPS, ingressIPs: ['10.0.0.4', 'ten'] })?.problems).toEqual([
    'status.platformStatus.baremetal.ingressIPs[1]: "ten", expected an IP address',
  ])
  expect(plan('OpenStack', {})?.problems).toEqual([
    'status.platformStatus.openstack.apiServerInternalIPs: required, a list of IP addresses',
  ])
})

test('the name of the API comes from its URL, and an object without a platform is no answer', () => {
  expect(plan('BareMetal', VIPS, { apiServerInternalURI: 'https://api-int.a.example.com:6443' })?.apiInt).toBe(
    'api-int.a.example.com',
  )
  for (const uri of [
    'https://[fd00::5]:6443',
    'http://x',
    'https://a;reboot',
    'https://$(reboot):6443',
    'https://a b',
    undefined,
  ])
    expect(plan('BareMetal', VIPS, { apiServerInternalURI: uri })?.apiInt).toBeUndefined()
  for (const object of [undefined, {}, { status: {} }, { status: 'x' }]) expect(readClusterPlan(object)).toBeUndefined()
})
