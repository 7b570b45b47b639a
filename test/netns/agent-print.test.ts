/**
 * `holdfast agent --print` on a machine with an address of a node, with the options of the pod that it replaces. The command prints the
 * text that the templates of the cluster render for that node. The nodes come from a list or from the remembered cluster.
 */

import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { ip } from '../../src/lab/ip.ts'
import { HOLDFAST } from '../../src/lab/lab.ts'
import { sample } from '../support/keepalived-text.ts'
import { describeNetns } from '../support/require.ts'

const POD = ['/nowhere/kubeconfig', '/config/keepalived.conf.tmpl', '/nowhere/keepalived.conf']
const VIPS = ['--api-vips=192.168.111.5', '--ingress-vips=192.168.111.4', '--name', 'ostest']

const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.replace(/\s+$/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))
const NET6 = 'fd2e:6f44:5dd8:c956:'
const node = (name: string, addresses: readonly string[], controlPlane: boolean) => ({
  metadata: { name, labels: controlPlane ? { 'node-role.kubernetes.io/master': '' } : {} },
  status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
})
const NODES = [0, 1, 2, 3, 4].map((i) =>
  node(i < 3 ? `master-${i}` : `worker-${i}`, [`192.168.111.2${i}`, `${NET6}:1${i + 4}`], i < 3),
)

describeNetns('holdfast agent --print', () => {
  let namespace = ''
  let worker = ''
  let folder = ''
  const file = (name: string) => join(folder, name)
  function agent(words: readonly string[], name = 'master-0', unicast = 'yes'): SpawnSyncReturns<string> {
    const env = { ...process.env, ENABLE_UNICAST: unicast, NODE_NAME: name }
    return spawnSync(
      'ip',
      ['netns', 'exec', name === 'worker-3' ? worker : namespace, file('dynkeepalived'), ...words],
      { encoding: 'utf8', env },
    )
  }

  beforeAll(() => {
    ;[namespace, worker] = [makeNamespace(), makeNamespace()]
    folder = mkdtempSync(join(tmpdir(), 'hf-print-'))
    // The name under which holdfast is started selects the command line of dynkeepalived.
    symlinkSync(HOLDFAST, file('dynkeepalived'))
    writeFileSync(file('nodes.json'), JSON.stringify({ kind: 'NodeList', items: NODES }))
    for (const [at, v4, v6] of [
      [namespace, '192.168.111.20/24', `${NET6}:14/64`],
      [worker, '192.168.111.23/24', `${NET6}:17/64`],
    ] as const) {
      ip(at, 'link add br-ex type veth peer name far')
      ip(at, 'link set far up')
      ip(at, 'link set br-ex up')
      ip(at, `address add ${v4} dev br-ex`)
      ip(at, `address add ${v6} dev br-ex nodad`)
    }
  })
  afterAll(() => {
    removeAll()
    rmSync(folder, { recursive: true, force: true })
  })

  test('for a control plane node in a list of nodes, the command prints the text of the templates, unicast and multicast', () => {
    const words = [...POD, ...VIPS, '--print', 'keepalived', '--nodes', file('nodes.json')]
    const unicast = agent(words)
    expect(unicast.stderr).toMatch(/Cannot read the template .*sync groups/)
    expect(lines(unicast.stdout)).toEqual(lines(sample('master')))
    expect(lines(agent(words, 'master-0', 'no').stdout)).toEqual(lines(sample('master-multicast')))
    expect(unicast.status).toBe(0)
    expect(readdirSync(folder).sort()).toEqual(['dynkeepalived', 'nodes.json'])
  })

  test.each([
    ['{"version":1,"ingressHa":"Disabled"}', ['ostest_API_0'], 'stored from an earlier run: ingressHa is Disabled'],
    [
      '{"version":1,"elsewhere":{"reason":"UnsupportedPlatform","message":"the platform is AWS"}}',
      [],
      'stored from an earlier run: nodes hold no VIPs: the platform is AWS',
    ],
    ['', ['ostest_API_0', 'ostest_INGRESS_0'], 'intent.json: '],
  ])('what the API said last of the wishes counts: %s', (text, routers, note) => {
    const state = mkdtempSync(join(tmpdir(), 'hf-print-state-'))
    writeFileSync(join(state, 'intent.json'), text)
    const words = [...VIPS, '--print', 'yaml', '--nodes', file('nodes.json'), '--state-dir', state]
    const printed = agent(words)
    rmSync(state, { recursive: true, force: true })
    expect([...printed.stdout.matchAll(/name: (ostest_\w+)/g)].map(([, name]) => name)).toEqual(routers)
    expect(printed.stderr).toContain(note)
    expect(printed.status).toBe(0)
  })

  test.each(['master', 'worker'])(
    'for a %s node of OpenStack with both families, the output has the sync groups of the template',
    (role) => {
      const name = role === 'worker' ? 'worker-3' : 'master-0'
      const vips = [`--api-vips=192.168.111.5,${NET6}:5`, `--ingress-vips=192.168.111.4,${NET6}:4`, '--name=ostest']
      const print = ['--print', 'keepalived', '--nodes', file('nodes.json')]
      const template = file('keepalived.conf.tmpl')
      const pod = ['/nowhere/kubeconfig', template, '/nowhere/keepalived.conf']
      // A template may be a file that is already rendered and has no template actions.
      writeFileSync(template, sample(`${role}-openstack-dualstack`))
      const grouped = agent([...pod, ...vips, ...print], name)
      expect([grouped.status, grouped.stderr]).toEqual([0, ''])
      expect(lines(grouped.stdout)).toEqual(lines(sample(`${role}-openstack-dualstack`)))
      writeFileSync(template, '# comment\n{{ lookup .Cluster }}\n')
      expect(agent([...pod, ...vips, ...print], name)).toMatchObject({
        ...{ status: 1, stdout: '' },
        stderr: expect.stringContaining(
          `holdfast: ${template}: line 2, column 4: cannot use function lookup, expected and, `,
        ),
      })
      rmSync(template)
      const byFlag = agent([...pod, ...vips, ...print, '--platform=OpenStack'], name)
      expect(byFlag.stderr).toContain(`Cannot read the template ${template}`)
      expect(lines(byFlag.stdout)).toEqual(lines(grouped.stdout))
    },
  )

  test('the output is YAML that holdfast check accepts', () => {
    const printed = agent([...VIPS, '--print=yaml', '--nodes', file('nodes.json')])
    expect(printed.status).toBe(0)
    writeFileSync(file('printed.yaml'), printed.stdout)
    const checked = spawnSync(HOLDFAST, ['check', file('printed.yaml')], { encoding: 'utf8' })
    expect([checked.status, checked.stderr]).toEqual([0, ''])
  })

  test('without an API the command uses the remembered cluster, and without a remembered cluster it fails', () => {
    const peers = NODES.map(({ metadata, status }, i) => ({
      name: metadata.name,
      controlPlane: i < 3,
      addresses: { ipv4: status.addresses[0]?.address },
    }))
    const words = [...VIPS, '--print', 'keepalived', '--state-dir', folder]
    const nothing = agent(words)
    expect([nothing.status, nothing.stdout]).toEqual([1, ''])
    expect(nothing.stderr).toContain(folder)
    writeFileSync(file('peers.json'), JSON.stringify({ version: 1, peers }))
    expect(lines(agent(words).stdout)).toEqual(lines(sample('master')))
    writeFileSync(file('peers.json'), '{"half":')
    expect(agent(words).status).toBe(1)
    expect(readFileSync(file('peers.json'), 'utf8')).toBe('{"half":')
  })

  test('an unknown node is an error, and one message names all wrong options and has exit status 64', () => {
    const unlisted = agent([...VIPS, '--print', '--nodes', file('nodes.json')], 'unlisted')
    expect(unlisted.stderr).toContain('unlisted is not in the list of nodes')
    const taken = agent([...VIPS, '--api-vrid=93', '--print', '--nodes', file('nodes.json')])
    expect([taken.status, taken.stderr]).toEqual([64, 'holdfast: API and ingress cannot both have VRID 93\n'])
    const wrong = agent(['--api-vips=x', '--api-port=y'])
    expect(wrong.status).toBe(64)
    expect(wrong.stderr).toMatch(/"x"[\s\S]*"y"|"y"[\s\S]*"x"/)
  })
})
