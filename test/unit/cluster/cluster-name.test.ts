import { describe, expect, test } from 'vitest'
import { clusterNameIn, installedPlatform } from '../../../src/cluster/decisions/cluster-name.ts'

const ofServer = (server: string) => clusterNameIn({ clusterConfig: undefined, server })
const clusterConfig = (installConfig: string) =>
  [
    'kind: ConfigMap',
    'data:',
    '  install-config: |',
    ...installConfig.split('\n').map((line) => `    ${line}`),
    '',
  ].join('\n')
const INSTALLED = clusterConfig('metadata:\n  name: ostest\nbaseDomain: example.com\nplatform:\n  baremetal: {}')

describe('the name of a cluster', () => {
  test.each([
    ['https://api-int.ostest.example.com:6443', 'ostest', 'example.com'],
    ['https://api-int.My-Cluster.example.com', 'my-cluster', 'example.com'],
    ['https://user@api.prod.lan:6443/path', 'prod', 'lan'],
  ])('%s', (server, name, domain) => expect(ofServer(server)).toEqual({ name, domain, from: 'kubeconfig' }))

  test.each([
    ['https://172.30.0.1:443', 'its host is an IP address'],
    ['https://[fd00::1]:6443', 'its host is an IP address'],
    ['https://localhost:6443', 'not have the form api-int.NAME.DOMAIN'],
    ['https://api-int.ostest', 'not have the form api-int.NAME.DOMAIN'],
    ['https://api-int..example.com', 'not have the form api-int.NAME.DOMAIN'],
    ['', 'it names no host'],
    ['api-int.ostest.example.com', 'it names no host'],
  ])('is not in "%s"', (server, why) => {
    const refused = ofServer(server)
    expect(refused).toContain(why)
    expect(refused).toContain(`"${server}"`)
  })

  test('the name of a cluster is in the install-config first', () => {
    const server = 'https://api-int.other.example.com:6443'
    expect(clusterNameIn({ clusterConfig: INSTALLED, server })).toEqual({
      ...{ name: 'ostest', domain: 'example.com', from: 'install-config' },
    })
    expect(clusterNameIn({ clusterConfig: undefined, server: undefined })).toContain('neither')
  })

  test.each([
    ['{', 'Cannot use the cluster-config: '],
    ['', 'it has no text data["install-config"]'],
    ['data: {}', 'it has no text data["install-config"]'],
    [clusterConfig('baseDomain: x'), 'it has no metadata.name'],
    [clusterConfig('metadata: { name: 7 }'), 'it has no metadata.name'],
    [clusterConfig('metadata: { name: "  " }'), 'it is empty'],
  ])('an unusable cluster-config is an error: %j', (text, why) =>
    expect(clusterNameIn({ clusterConfig: text, server: 'https://api-int.other.example.com' })).toContain(why),
  )

  test('the install-config has the platform as well', () => {
    expect(installedPlatform(INSTALLED)).toEqual({ platform: 'baremetal' })
    expect(installedPlatform(clusterConfig('metadata: { name: a }'))).toEqual({ platform: undefined })
    expect(installedPlatform('data: {}')).toHaveProperty('problem')
  })
})
