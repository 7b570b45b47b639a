import { describe, expect, test } from 'vitest'
import { isRemoteWorker, nodeFiles } from '../../../src/cluster/decisions/node-ip/files.ts'
import { environmentIn, hintIn } from '../../../src/cluster/decisions/node-ip/hint.ts'
import { address } from '../../../src/wire/address.ts'
import { clusterCases } from '../../support/cluster-cases.ts'

type Facts = {
  readonly chosen: readonly string[]
  readonly matchesVips: boolean
  readonly platform: string
  readonly userManagedLB: boolean
  readonly vips: readonly string[]
}

const factsOf = ({ chosen, matchesVips, platform, userManagedLB, vips }: Facts) => ({
  chosen: chosen.map(address),
  matches: matchesVips,
  platform,
  userManagedLoadBalancer: userManagedLB,
  vips: vips.map(address),
})

describe('what others read of the node’s address', () => {
  test.each(
    clusterCases<Facts, { files: Record<string, string> }>('nodeIpSetFiles').map((one) => [one.id, one] as const),
  )('%s', (_, { input, expect: wanted }) => {
    const files = nodeFiles(factsOf(input)).flatMap(({ path, content }) =>
      content === undefined ? [] : [[path, content]],
    )
    expect(Object.fromEntries(files)).toEqual(wanted?.files)
  })

  test('the file that announces the choice is written last, and nothing is written without a choice', () => {
    const facts = factsOf({ chosen: ['10.0.0.5'], matchesVips: true, platform: '', userManagedLB: false, vips: [] })
    expect(nodeFiles(facts).at(-1)).toEqual({ path: '/run/nodeip-configuration/primary-ip', content: '10.0.0.5' })
    expect(nodeFiles({ ...facts, chosen: [] })).toEqual([])
  })

  test('a remote worker gets a label and a file, which are removed when it is none', () => {
    const input = {
      chosen: ['10.0.0.5'],
      matchesVips: false,
      platform: 'BareMetal',
      userManagedLB: false,
      vips: ['10.9.0.1'],
    }
    const byPath = (facts: Facts) => new Map(nodeFiles(factsOf(facts)).map(({ path, content }) => [path, content]))
    const remote = byPath(input)
    expect(remote.get('/run/nodeip-configuration/remote-worker')).toMatch(/don't run keepalived$/)
    expect(remote.get('/etc/systemd/system/kubelet.service.d/20-nodenet.conf')).toBe(
      '[Service]\nEnvironment="KUBELET_NODE_IP=10.0.0.5" "KUBELET_NODE_IPS=10.0.0.5"\n' +
        'Environment="CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker"\n',
    )
    const near = byPath({ ...input, matchesVips: true })
    expect(near.has('/run/nodeip-configuration/remote-worker')).toBe(true)
    expect(near.get('/run/nodeip-configuration/remote-worker')).toBeUndefined()
  })

  test.each(clusterCases<Omit<Facts, 'chosen'>, boolean>('isRemoteWorker').map((one) => [one.id, one] as const))(
    '%s',
    (_, { input, expect: wanted }) => {
      expect(isRemoteWorker(factsOf({ ...input, chosen: [] }))).toBe(wanted)
    },
  )
})

describe('the hint', () => {
  const file = (text: string) => [{ name: 'FILE', variables: environmentIn(text) }]

  test('the newer name of the hint wins over the older one, and the first source over the next', () => {
    const both = file('# hint\nKUBELET_NODEIP_HINT=10.0.0.0\n\nNODEIP_HINT="192.168.1.0"\n')
    expect(hintIn(both)).toEqual({ addresses: ['192.168.1.0'], from: 'NODEIP_HINT in FILE' })
    const environment = { name: 'ENV', variables: { KUBELET_NODEIP_HINT: '172.16.0.0' } }
    expect(hintIn([environment, ...both])).toMatchObject({ addresses: ['172.16.0.0'] })
  })

  test.each([['', '# NODEIP_HINT=10.0.0.0\nOTHER=1\n', 'NODEIP_HINT=\nnonsense\n']])('none in %j', (...texts) => {
    for (const text of texts) expect(hintIn(file(text))).toEqual({ addresses: [], from: undefined })
  })

  test('a hint may have one address of each family, and another text is an error', () => {
    expect(hintIn(file('NODEIP_HINT=10.0.0.0 fd00::'))).toMatchObject({ addresses: ['10.0.0.0', 'fd00::'] })
    expect(hintIn(file('NODEIP_HINT=10.0.0.0/24'))).toBe(
      'NODEIP_HINT in FILE: cannot use "10.0.0.0/24", expected an IP address',
    )
  })
})
