/**
 * The agent in the place of keepalived's monitor, with the options of the monitor's pod. At each change of the cluster,
 * the agent replaces the whole configuration file and sends `reload` to keepalived's socket. While the API is gone, the
 * agent uses the remembered cluster. If a load balancer of the user has the addresses, the written file has no VRRP
 * instances.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { ClusterLab } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 40_000
let cluster: ClusterLab | undefined
let server: Server | undefined
afterEach(async () => {
  server?.close()
  await cluster?.destroy()
  cluster = undefined
})

describeNetns('the agent in the place of dynkeepalived', () => {
  test('the agent writes keepalived.conf and sends reload each time the cluster changes', async () => {
    cluster = new ClusterLab({ nodes: 1 })
    const { lab } = cluster
    const node = cluster.node(1)
    const folder = join(lab.directory, 'keepalived')
    mkdirSync(folder)
    const file = join(folder, 'keepalived.conf')
    const monitor = join(lab.directory, 'dynkeepalived')
    symlinkSync(join(packageRoot(), 'bin', 'holdfast'), monitor)
    // In a pod, the socket has a fixed path. In this test the socket lies in the folder of the test.
    const socket = join(folder, 'keepalived.sock')
    const words: string[] = []
    server = createServer((connection) => connection.on('data', (data) => words.push(data.toString()))).listen(socket)
    const bind = `mkdir -p /var/run/keepalived && mount --bind ${folder} /var/run/keepalived && exec "$@"`
    const start = () => {
      const pod = [join(lab.directory, 'kubeconfig'), '/config/keepalived.conf.tmpl', file]
      const argv = [monitor, ...pod, '--api-vips', '10.77.0.100', '--ingress-vips', '10.77.0.101', '--name', 'ostest']
      const env = { NODE_NAME: node.name, ENABLE_UNICAST: 'yes', POD_NAMESPACE: 'openshift-kni-infra' }
      return new LoggedProcess(lab, node.host, ['unshare', '--mount', 'sh', '-c', bind, 'sh', ...argv], env)
    }
    cluster.registerAll()
    cluster.register({ name: 'n2', addresses: ['10.77.0.12'] })
    await cluster.apiUp()
    let agent = start()
    const has = (occasion: string, peers: readonly string[], said: number) =>
      eventually(
        `${peers} as peers, and "reload" ${said} times (${occasion})`,
        () => {
          const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
          const listed = /vrrp_instance ostest_API_0 \{[\s\S]*?unicast_peer \{([^}]*)\}/
            .exec(text)?.[1]
            ?.trim()
            .split(/\s+/)
          return JSON.stringify(listed) === JSON.stringify(peers) && words.join('') === 'reload\n'.repeat(said)
        },
        {
          sight: () => ({
            words,
            file: existsSync(file) ? readFileSync(file, 'utf8') : 'no file',
            agent: agent.lines.slice(-6).map(({ text }) => text),
          }),
          within: WITHIN,
          every: 50,
        },
      )
    await has('begin', ['10.77.0.12'], 1)
    cluster.register({ name: 'n3', addresses: ['10.77.0.13'] })
    await has('one more', ['10.77.0.12', '10.77.0.13'], 2)
    await cluster.apiDown()
    agent.signal('SIGTERM')
    expect((await agent.exited).code).toBe(0)
    rmSync(file)
    agent = start()
    await has('from memory', ['10.77.0.12', '10.77.0.13'], 3)

    agent.signal('SIGTERM')
    await agent.exited
    cluster.api.store.put('config.openshift.io/v1/infrastructures', {
      metadata: { name: 'cluster' },
      status: { platformStatus: { type: 'BareMetal', baremetal: { loadBalancer: { type: 'UserManaged' } } } },
    })
    await cluster.apiUp()
    agent = start()
    await eventually(
      'a file without instances, and reload',
      () => !readFileSync(file, 'utf8').includes('vrrp_instance') && words.join('') === 'reload\n'.repeat(4),
      { sight: () => ({ words, agent: agent.lines.slice(-6).map(({ text }) => text) }), within: WITHIN, every: 50 },
    )
  })
})
