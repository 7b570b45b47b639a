/**
 * Tasks of the agent beside the list of peers, seen from outside. The agent writes files for the engine's checks, gives
 * a remote worker no instances, and writes `stop` on a bootstrap node. The program nft is the real one. The program
 * crictl is a script, and the node's folders are made by the test.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { HOLDFAST, LAB_VIP } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { createAuthority } from '../support/certificates.ts'
import { ClusterLab, INGRESS_VIP } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = { within: 40_000, every: 50 }
const READY_PORTS = join(import.meta.dirname, '..', 'support', 'ready-ports.mjs')
const CRICTL = '#!/bin/sh\ncat "$CRICTL_SAYS/$1.json"\n'
/** Paths on the node. The agent's own mount namespace has a folder of the test at each path. */
const PLACES = {
  holdfast: '/run/holdfast',
  keepalived: '/var/run/keepalived',
  nodeip: '/run/nodeip-configuration',
} as const

let cluster: ClusterLab | undefined
let server: Server | undefined
afterEach(async () => {
  server?.close()
  server = undefined
  await cluster?.destroy()
  cluster = undefined
})

async function prepared() {
  const made = new ClusterLab({ nodes: 1 })
  cluster = made
  const { lab } = made
  const node = made.node(1)
  made.registerAll()
  made.register({ name: 'n2', addresses: ['10.77.0.12'] })
  await made.apiUp()
  const at = (...names: string[]) => join(lab.directory, ...names)
  for (const name of [...Object.keys(PLACES), 'bin', 'says']) mkdirSync(at(name), { recursive: true })
  writeFileSync(at('bin', 'crictl'), CRICTL)
  chmodSync(at('bin', 'crictl'), 0o755)
  const says = (question: 'ps' | 'pods', answer: unknown) =>
    writeFileSync(at('says', `${question}.json`), JSON.stringify(answer))
  says('ps', { containers: [] })
  says('pods', { items: [] })
  const binds = Object.entries(PLACES).map(
    ([name, place]) => `mkdir -p ${place} && mount --bind ${at(name)} ${place} && `,
  )
  const start = (words: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const own = ['--api-vips', LAB_VIP, '--ingress-vips', INGRESS_VIP, '--name', 'ostest', '--stable-for=500ms']
    const argv = [HOLDFAST, 'agent', at('kubeconfig'), ...words, ...own, '--check-interval=300ms']
    const shell = [
      'unshare',
      '--mount',
      'sh',
      '-c',
      `mount -t tmpfs tmpfs /run && ${binds.join('')}exec "$@"`,
      'sh',
      ...argv,
    ]
    const path = `${at('bin')}:${process.env.PATH}`
    const around = { NODE_NAME: node.name, ENABLE_UNICAST: 'yes', CRICTL_SAYS: at('says'), PATH: path }
    return new LoggedProcess(lab, node.host, shell, { ...around, ...env })
  }
  const words: string[] = []
  server = createServer((connection) => connection.on('data', (data) => words.push(data.toString())))
  server.listen(at('keepalived', 'keepalived.sock'))
  const said = () => words.join('').trim().split('\n')
  return { lab, node, at, says, start, said }
}
type Prepared = Awaited<ReturnType<typeof prepared>>

const there = ({ at }: Prepared, names: readonly [string, ...string[]], wanted: boolean, agent: LoggedProcess) =>
  eventually(`${names.join('/')} to be ${wanted ? 'there' : 'gone'}`, () => existsSync(at(...names)) === wanted, {
    sight: () => agent.lines.slice(-6).map(({ text }) => text),
    ...WITHIN,
  })

describeNetns("the agent's tasks besides the list of peers", () => {
  test('a file exists for each state that nft and CRI-O report, as long as they report the state', {
    timeout: 120_000,
  }, async () => {
    const all = await prepared()
    const { lab, node, says, start } = all
    const agent = start(['--engine-socket', node.socket, '--state-dir', node.stateDirectory])
    await agent.line(/agent started, the role of this node is controlPlane/, WITHIN.within)
    const rule = ['keepalived', 'iptables-rule-exists'] as const
    const server = ['holdfast', 'agent', 'machine-config-server'] as const
    const router = ['holdfast', 'agent', 'default-router'] as const
    for (const file of [rule, server, router]) expect(existsSync(all.at(...file)), file.join('/')).toBe(false)
    says('ps', { containers: [{ metadata: { name: 'machine-config-server' } }] })
    says('pods', { items: [{ metadata: { name: 'router-default-77-x' } }] })
    const nft = (text: string) => lab.exec(node.host, ['nft', text])
    nft('add table ip ocp_nat')
    for (const hook of ['prerouting', 'output']) {
      const which = `${hook === 'output' ? 'oifname lo ' : ''}ip daddr ${LAB_VIP} tcp dport 6443`
      const to = hook === 'output' ? 'redirect to :9445' : `dnat to ${LAB_VIP}:9445`
      nft(`add chain ip ocp_nat ocp_${hook} { type nat hook ${hook} priority -100; }`)
      nft(`add rule ip ocp_nat ocp_${hook} ${which} counter ${to} comment "OCP_API_LB_REDIRECT"`)
    }
    for (const file of [rule, server, router]) await there(all, file, true, agent)
    nft('flush ruleset')
    says('ps', { containers: [] })
    says('pods', { items: [] })
    for (const file of [rule, server, router]) await there(all, file, false, agent)
  })

  test('a node that becomes a remote worker loses its virtual routers, and gets them back when it is no remote worker', {
    timeout: 120_000,
  }, async () => {
    const all = await prepared()
    const { at, said, start } = all
    const file = at('keepalived.conf')
    const agent = start(['/config/keepalived.conf.tmpl', file])
    const has = (instances: number, reloads: number) =>
      eventually(
        `${instances} instances, reload for the ${reloads}. time`,
        () => {
          const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
          return text.split('vrrp_instance ').length - 1 === instances && text !== '' && said().length === reloads
        },
        { sight: () => ({ said: said(), agent: agent.lines.slice(-6).map(({ text }) => text) }), ...WITHIN },
      )
    await has(2, 1)
    writeFileSync(at('nodeip', 'remote-worker'), 'another LAN\n')
    await has(0, 2)
    rmSync(at('nodeip', 'remote-worker'))
    await has(2, 3)
    expect(new Set(said())).toEqual(new Set(['reload']))
  })

  test('the agent of a bootstrap node sends stop to its program when the API of the node is gone', {
    timeout: 120_000,
  }, async () => {
    const all = await prepared()
    const { at, lab, node, said, start } = all
    const authority = createAuthority()
    const { cert, key } = authority.issue('DNS:localhost')
    authority.remove()
    mkdirSync(at('api'))
    writeFileSync(at('api', 'cert.pem'), cert)
    writeFileSync(at('api', 'key.pem'), key)
    const api = new LoggedProcess(lab, node.host, ['node', READY_PORTS, at('api'), '6443s'])
    await api.line(/listening/, WITHIN.within)
    const agent = start(['/config/keepalived.conf.tmpl', at('keepalived.conf')], { IS_BOOTSTRAP: 'yes' })
    await agent.line(/agent started, the role of this node is bootstrap/, WITHIN.within)
    await eventually('its file', () => said().includes('reload'), { sight: said, ...WITHIN })
    expect(said()).not.toContain('stop')
    // The agent has seen a ready API. Only after that does an API without an answer mean that the API is gone.
    await sleep(4_000)
    api.killFamily()
    await eventually('the word stop', () => said().includes('stop'), { sight: said, ...WITHIN })
  })
})
