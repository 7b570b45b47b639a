/** Whether the nodes of a cluster hold its VIPs, by the object Infrastructure. */
import { expect, test } from 'vitest'
import { vipsElsewhere } from '../../../src/cluster/decisions/engine/platform.ts'

const IPS = ['192.168.111.5']
const infrastructure = (type: unknown, own?: unknown) => ({
  status: { platform: 'old', platformStatus: { type, [String(type).toLowerCase()]: own } },
})
const HERE = { elsewhere: undefined }

test.each<readonly [string, unknown]>([
  ...['BareMetal', 'OpenStack', 'oVirt', 'Nutanix'].map((name) => [name, infrastructure(name)] as const),
  ['VSphere with addresses', infrastructure('VSphere', { apiServerInternalIPs: IPS })],
  ['VSphere of an older release', infrastructure('VSphere', { apiServerInternalIP: IPS[0] })],
  ['an older object without platformStatus', { status: { platform: 'VSphere' } }],
  ['None', infrastructure('None')],
  ['External', infrastructure('External', { platformName: 'x' })],
  ['a platform of a later release', infrastructure('Moon')],
  [
    'the load balancer of OpenShift',
    infrastructure('BareMetal', { loadBalancer: { type: 'OpenShiftManagedDefault' } }),
  ],
  ['an empty load balancer', infrastructure('BareMetal', { loadBalancer: { type: '' } })],
  ['a load balancer that makes no sense', infrastructure('BareMetal', { loadBalancer: 7 })],
])('the nodes hold the VIPs: %s', (_, object) => {
  expect(vipsElsewhere(object)).toEqual(HERE)
})

test.each<readonly [string, unknown, string, string]>([
  ...['AWS', 'Azure', 'GCP', 'IBMCloud', 'PowerVS', 'AlibabaCloud', 'KubeVirt', 'EquinixMetal'].map(
    (name) => [name, infrastructure(name), 'UnsupportedPlatform', name] as const,
  ),
  ['an older object', { status: { platform: 'AWS' } }, 'UnsupportedPlatform', 'AWS'],
  ...['BareMetal', 'OpenStack', 'VSphere', 'oVirt', 'Nutanix'].map(
    (name) =>
      [
        `${name}, UserManaged`,
        infrastructure(name, { apiServerInternalIPs: IPS, loadBalancer: { type: 'UserManaged' } }),
        'UserManagedLoadBalancer',
        'UserManaged',
      ] as const,
  ),
  ['VSphere of the user', infrastructure('VSphere'), 'UserManagedLoadBalancer', 'apiServerInternalIPs'],
  [
    'VSphere without addresses',
    infrastructure('VSphere', { apiServerInternalIPs: [] }),
    'UserManagedLoadBalancer',
    'apiServerInternalIPs',
  ],
])('the VIPs are elsewhere: %s', (_, object, reason, named) => {
  expect(vipsElsewhere(object)).toEqual({ elsewhere: { reason, message: expect.stringContaining(named) } })
})

test.each<readonly [string, unknown]>([
  ['nothing', undefined],
  ['no object', '<html>'],
  ['no status', { metadata: { name: 'cluster' } }],
  ['an empty status', { status: {} }],
  ['an empty type', { status: { platformStatus: { type: '' } } }],
  ['a type that is a number', { status: { platformStatus: { type: 7 } } }],
])('the answer %s tells nothing', (_, object) => {
  expect(vipsElsewhere(object)).toBeUndefined()
})
