/**
 * The bootstrap of a cluster with real engines and agents. A bootstrap node with priority 70 holds the API's address. Three control
 * plane nodes join, and the API and then Ironic stop on the bootstrap node, which gives the address up. A client and the kernels'
 * notifications show the holder.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { HolderHistory } from '../../src/lab/watch/holder-history.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { createAuthority } from '../support/certificates.ts'
import { ClusterLab } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 40_000
const LONGEST = 150_000
const SUPPORT = join(import.meta.dirname, '..', 'support')

let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

async function oneHolder(lab: ClusterLab['lab'], prober: Prober): Promise<string> {
  return eventually(
    'one node to have the VIP and to answer',
    () => {
      const [holder, ...others] = lab.holders(LAB_VIP)
      return others.length === 0 && holder !== undefined && prober.holder === holder ? holder : undefined
    },
    { sight: () => [lab.holders(LAB_VIP), prober.holder], within: WITHIN, every: 50 },
  )
}

describeNetns('the bootstrap node of a cluster', () => {
  test(
    'gives the address up when its API and its Ironic are gone, and a control plane node gets the address',
    async () => {
      cluster = new ClusterLab({ nodes: 4, flags: ['--stable-for=1s'] })
      const { lab, nodes } = cluster
      for (const { host } of nodes) startResponder(lab, host)
      const bootstrap = cluster.node(4)
      const controlPlane = nodes.slice(0, 3)
      const { key, cert } = createAuthority().issue('DNS:localhost')
      writeFileSync(join(lab.directory, 'key.pem'), key)
      writeFileSync(join(lab.directory, 'cert.pem'), cert)
      const ports = ['node', join(SUPPORT, 'ready-ports.mjs'), lab.directory]
      const readyz = new LoggedProcess(lab, bootstrap.host, [...ports, '7443s'])
      const ironic = new LoggedProcess(lab, bootstrap.host, [...ports, '6385'])
      await Promise.all([readyz.line(/listening/, WITHIN), ironic.line(/listening/, WITHIN)])
      await cluster.apiUp()
      bootstrap.environment = { IS_BOOTSTRAP: 'yes' }
      bootstrap.startEngine()
      // The bootstrap guard asks the node's own API at the port that the command line names.
      bootstrap.startAgent('--api-port=7443')
      const prober = new Prober(lab, lab.client, LAB_VIP)
      expect(await oneHolder(lab, prober)).toBe(bootstrap.host.name)
      for (const { name, host } of controlPlane) cluster.register({ name, addresses: [host.address] })
      for (const node of controlPlane) {
        node.startEngine()
        node.startAgent()
      }
      for (const node of controlPlane)
        await node.routersAre(['ostest_API_0: unicast to 2 peers', 'ostest_INGRESS_0: unicast to 2 peers'], WITHIN)
      await bootstrap.routersAre(['ostest_API_0: unicast to 3 peers'], WITHIN)
      const history = new HolderHistory(lab, LAB_VIP)
      await sleep(5_000)
      const together = monotonicMs()
      expect(await oneHolder(lab, prober), 'while both are there').toBe(bootstrap.host.name)

      readyz.signal('SIGKILL')
      // Ironic still answers, so the bootstrap node keeps the address.
      await sleep(3_000)
      expect(lab.holders(LAB_VIP)).toEqual([bootstrap.host.name])
      const at = ironic.signal('SIGKILL')
      const stop = await bootstrap.agent?.line(/bootstrap node: stop/, WITHIN)
      const moved = await eventually(
        'a control plane node to answer',
        () => prober.movedFrom(bootstrap.host.name, at),
        {
          sight: async () => [lab.holders(LAB_VIP), await bootstrap.routers(), bootstrap.told.slice(-4)],
          within: WITHIN,
        },
      )
      await bootstrap.routersAre([], WITHIN)
      await sleep(4_000)
      const to = monotonicMs()
      const account = history.between(together, to)
      const figures = {
        stopAfter: Math.round((stop?.at ?? Number.NaN) - at),
        movedAfter: Math.round(moved.at - at),
        outage: Math.round(prober.longestGap(at, to)),
        ...account,
      }
      process.stdout.write(`bootstrap: ${JSON.stringify(figures)}\n`)
      // The bootstrap guard needs five failed checks, a second apart.
      expect(figures.stopAfter, 'ms from the end of Ironic to the `stop` of the agent').toBeGreaterThan(3_000)
      expect(
        moved.at,
        'time at which the client got its first answer from another node, after the `stop`',
      ).toBeGreaterThan(stop?.at ?? Number.NaN)
      expect(figures.outage, 'longest time in ms in which the client got no answer').toBeLessThan(5_000)
      expect(account.holders, 'holders at the end').toHaveLength(1)
      expect(controlPlane.map(({ host }) => host.name)).toContain(account.holders[0])
      expect(account.several, 'ms in which two nodes held the address').toBeLessThan(500)

      // A restarted agent does not wait for an API that was never ready: the bootstrap node has already given up.
      const again = monotonicMs()
      bootstrap.agent?.killFamily()
      await bootstrap.agent?.exited
      bootstrap.startAgent('--api-port=7443')
      await bootstrap.agent?.line(/bootstrap node: stop/, WITHIN)
      await sleep(4_000)
      expect(await bootstrap.routers(), 'routers of the bootstrap node after a restart of the agent').toEqual([])
      expect(history.between(again, monotonicMs()).holders).toEqual(account.holders)
      await prober.stop()
    },
    LONGEST,
  )
})
