/**
 * The static pod of deploy/static-pod/kubeadm-api.yaml on real nodes (scripts/cluster.sh): kubelet, containerd, runc
 * and the API server are real. A pair of clients on the LAN observes each accident; the last test prints what they
 * lost, for docs/cluster.md.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { type Loss, RealCluster, VIP } from './real-cluster.ts'
import { describeCluster } from './require-cluster.ts'

const MINUTES = 60_000
const WAIT = { within: 3 * MINUTES, every: 500 }
const MANIFEST = '/etc/kubernetes/manifests/holdfast.yaml'
const NAMESPACE = 'kube-system'

describeCluster('the static pod of kubeadm under a real kubelet', () => {
  let cluster: RealCluster
  const losses: (readonly [string, Loss])[] = []

  beforeAll(() => {
    cluster = new RealCluster()
  }, 7 * MINUTES)
  afterAll(async () => {
    const lines = losses.map(
      ([what, { silence, requests, failed, moves }]) =>
        `| ${what} | ${moves.length} | ${silence} | ${failed} of ${requests} |`,
    )
    process.stdout.write(
      `| accident on the holder | moves | longest silence, ms | failed requests |\n${lines.join('\n')}\n`,
    )
    await cluster?.destroy()
  }, MINUTES)

  const podOf = (node: string) => cluster.pod(NAMESPACE, `holdfast-${node}`)
  const ready = (node: string, occasion: string, other?: { uid: string }) =>
    eventually(
      `the pod of ${node} to be ready ${occasion}`,
      () => {
        const pod = podOf(node)
        return pod?.ready === true && pod.uid !== other?.uid && pod
      },
      { sight: () => [podOf(node), cluster.kubectl('get', 'pods', '-A').text], ...WAIT },
    )

  /** Does something to the node that has the address, and stores what the clients lost until `end` resolves. */
  async function accident(what: string, act: (holder: string) => unknown, end: (holder: string) => Promise<unknown>) {
    const holder = await cluster.holder()
    await sleep(1_000)
    const since = monotonicMs()
    await act(holder)
    await end(holder)
    await cluster.holder()
    const loss = await cluster.lossSince(since)
    losses.push([what, loss])
    process.stdout.write(`${what}: ${JSON.stringify(loss)}\n`)
    return { holder, loss }
  }
  /** Returns after another node answers. */
  const moved = async (before: string) => {
    await eventually(`another holder than ${before}`, () => ![before, undefined].includes(cluster.prober.holder), {
      sight: () => cluster.prober.holders.slice(-4),
      ...WAIT,
    })
  }

  test('the pods are there as mirror pods, each container is ready, and one node has the address', async () => {
    for (const node of ['n1', 'n2', 'n3']) await ready(node, 'after the start')
    expect(cluster.holders(VIP)).toHaveLength(1)
  })

  test(
    'the deletion of the mirror pod moves nothing, and kubelet creates the mirror pod again',
    async () => {
      const { loss } = await accident(
        'mirror pod deleted by kubectl',
        async (holder) => {
          const before = podOf(holder)
          expect(
            cluster.kubectl('--namespace', NAMESPACE, 'delete', 'pod', `holdfast-${holder}`, '--wait=false').ok,
          ).toBe(true)
          await ready(holder, 'after the deletion', before)
        },
        () => sleep(1_000),
      )
      expect(loss.moves).toEqual([])
    },
    5 * MINUTES,
  )

  test(
    'a changed manifest moves the address, and each pod is ready again',
    async () => {
      await accident(
        'manifest changed',
        (holder) => cluster.on(holder, 'sed', '-i', 's|cpu: 100m|cpu: 110m|', MANIFEST),
        moved,
      )
      for (const node of ['n1', 'n2', 'n3']) await ready(node, 'after the change')
    },
    5 * MINUTES,
  )

  test(
    'a manifest that is moved away hands the address over, and moved back the pod is ready again',
    async () => {
      const { holder } = await accident(
        'manifest removed',
        (node) => cluster.on(node, 'mv', MANIFEST, '/etc/kubernetes/holdfast.yaml'),
        moved,
      )
      await eventually(`the mirror pod of ${holder} to be gone`, () => podOf(holder) === undefined, {
        sight: () => podOf(holder),
        ...WAIT,
      })
      cluster.on(holder, 'mv', '/etc/kubernetes/holdfast.yaml', MANIFEST)
      await ready(holder, 'after its return')
    },
    5 * MINUTES,
  )

  test(
    'killed containers of the pod move the address, and kubelet starts them again',
    async () => {
      const { holder } = await accident(
        'guardian and engine killed',
        (node) => cluster.on(node, 'pkill', '-KILL', '-f', '/opt/holdfast/'),
        moved,
      )
      await ready(holder, 'after the kill')
    },
    5 * MINUTES,
  )

  test(
    'a frozen engine loses the address, its liveness probe fails, and kubelet starts the container again',
    async () => {
      const before: { restarts?: number } = {}
      const { holder } = await accident(
        'engine frozen (SIGSTOP)',
        (node) => {
          before.restarts = podOf(node)?.restarts ?? 0
          cluster.on(node, 'pkill', '-STOP', '-f', '^/opt/holdfast/runtime/node')
        },
        moved,
      )
      await eventually('kubelet to start it again', () => (podOf(holder)?.restarts ?? 0) > (before.restarts ?? 0), {
        sight: () => podOf(holder),
        ...WAIT,
      })
      await ready(holder, 'after the restart')
    },
    6 * MINUTES,
  )

  test(
    'an API server that is killed gives the address to a node whose API server is ready',
    async () => {
      await accident('API server killed', (node) => cluster.on(node, 'pkill', '-KILL', 'kube-apiserver'), moved)
    },
    5 * MINUTES,
  )

  test(
    'a kubelet that is killed and starts again moves nothing',
    async () => {
      const { loss } = await accident(
        'kubelet killed',
        (node) => cluster.on(node, 'pkill', '-KILL', 'kubelet'),
        () => sleep(20_000),
      )
      expect(loss.moves).toEqual([])
    },
    5 * MINUTES,
  )

  test(
    'a node that loses its power gives the address to another one, and takes part again after its start',
    async () => {
      const { holder } = await accident('power failure', (node) => cluster.off(node), moved)
      await sleep(3_000)
      cluster.start(holder)
      await eventually(
        `${holder} to be ready after its start`,
        () => cluster.kubectl('get', 'node', holder, '--no-headers').text.includes(' Ready') && podOf(holder)?.ready,
        { sight: () => cluster.kubectl('get', 'pods', '-A').text, ...WAIT },
      )
      await cluster.holder()
    },
    6 * MINUTES,
  )
})
