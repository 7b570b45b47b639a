/**
 * The manifests of deploy/static-pod, each run by podman on nodes of a LAN. Container runtime, cgroups, capabilities and read-only root are
 * real; there is no kubelet. Assertions use a client that asks for the virtual address once a millisecond, and the kernel. On OpenShift's
 * nodes a stand-in plays the cluster's monitor: it writes keepalived's file and sends "reload" and "stop".
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { familyOf } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { judgeTime } from '../judge/time.ts'
import { docker } from '../support/docker.ts'
import { type PodNode, PodNodes } from '../support/pod-nodes.ts'
import { describeContainer } from '../support/require.ts'
import { IMAGE } from './build-image.ts'

const SUPPORT = join(packageRoot(), 'test', 'support')
const SAMPLES = join(packageRoot(), 'test', 'samples', 'keepalived')
/** Image of OpenShift. OpenShift's image stays after the run, as IMAGE stays. */
const OPENSHIFT = 'holdfast-openshift:test'
const MONITOR = 'holdfast-stand-in-monitor:test'
const INGRESS_VIP = '10.77.0.101'
const MEBIBYTE = 1024 * 1024
/** Limits in milliseconds. The tests judge outcomes, and a busy machine may be slow. */
const WITHIN = { within: 30_000, every: 50 }
const PATIENCE = { timeout: 300_000 }

let nodes: PodNodes | undefined
const podman = (): PodNodes => {
  if (nodes === undefined) throw new Error('Cannot run pods: podman has no images')
  return nodes
}

/** Builds the image for OpenShift as its users do. */
function buildForOpenShift(): void {
  const folder = join(packageRoot(), 'deploy', 'static-pod')
  const file = join(folder, 'openshift.Dockerfile')
  docker(['build', '--quiet', '--file', file, '--build-arg', `HOLDFAST=${IMAGE}`, '--tag', OPENSHIFT, folder], 240_000)
}

function buildMonitor(): void {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-monitor-'))
  try {
    writeFileSync(join(folder, 'monitor.mjs'), readFileSync(join(SUPPORT, 'stand-in-monitor.mjs')), { mode: 0o755 })
    writeFileSync(
      join(folder, 'Dockerfile'),
      `FROM ${OPENSHIFT}
USER 0
COPY monitor.mjs /usr/local/lib/
RUN ln -s /opt/holdfast/runtime/node /usr/local/lib/monitor.mjs /usr/local/bin/ \\
 && for name in runtimecfg dynkeepalived; do ln -sf /usr/local/lib/monitor.mjs /usr/local/bin/$name; done
`,
    )
    docker(['build', '--quiet', '--tag', MONITOR, folder], 120_000)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the text with the edits that docs/static-pod.md asks for. */
const edit = (text: string) =>
  text
    .replace(/image: \S+\/holdfast:\S+/g, `image: localhost/${IMAGE}`)
    .replace(/image: \S+\/holdfast-openshift:\S+/g, `image: localhost/${OPENSHIFT}`)
    .replace(/image: \S+\/baremetal-runtimecfg:\S+/g, `image: localhost/${MONITOR}`)
    .replaceAll('192.168.111.5', LAB_VIP)
    .replaceAll('192.168.111.4', INGRESS_VIP)

/** Addresses of the nodes in the samples. The cluster's other nodes are absent. */
const ADDRESSES: Readonly<Record<string, string>> = {
  '192.168.111.77': '10.77.0.11',
  '192.168.111.20': '10.77.0.12',
  '192.168.111.21': '10.77.0.13',
  '192.168.111.23': '10.77.0.14',
}

/** Returns OpenShift's own file (test/samples/keepalived) with the placeholders that its monitor has not filled in yet. */
function templateFor(file: string, address: string): string {
  const text = readFileSync(join(SAMPLES, file), 'utf8')
    .replace(/192\.168\.111\.5\b/g, '{{API}}')
    .replace(/192\.168\.111\.4\b/g, '{{INGRESS}}')
    .replace(/interface \S+/g, 'interface eth0')
    .replace(/^ *192\.168\.111\.(22|24)$/gm, '')
    .replace(/192\.168\.111\.\d+/g, (one) => ADDRESSES[one] ?? one)
  // Two nodes share a sample. For the second node the two addresses are exchanged.
  const [, source = address] = /unicast_src_ip (\S+)/.exec(text) ?? []
  return text.replaceAll(source, 'OTHER').replaceAll(address, source).replaceAll('OTHER', address)
}

/** Returns the requests of the cluster's checks, as the cluster writes them. `crictl` is the node's program outside the container. */
const scriptsFor = (crictl: string): Readonly<Record<string, string>> => ({
  'chk_ocp_script.sh': `#!/bin/bash
/usr/bin/curl -o /dev/null -kLfs http://localhost:9444/haproxy_ready && [ -e /var/run/keepalived/iptables-rule-exists ]
`,
  'chk_ocp_script_both.sh': `#!/bin/bash
/etc/keepalived/chk_ocp_script.sh || /usr/bin/curl -o /dev/null -kLfs http://localhost:6443/readyz
`,
  'chk_mcs_script.sh': `#!/bin/bash
chroot /host ${crictl} ps --state running | grep -q machine-config-server
`,
  'chk_default_ingress.sh': `#!/bin/bash
chroot /host ${crictl} pods --state Ready | grep -q router-default
`,
})

class Watch {
  readonly #prober: Prober
  readonly #vip: string

  constructor(lab: Lab, host: Host, vip: string) {
    this.#prober = new Prober(lab, host, vip)
    this.#vip = vip
  }

  answers(name: string, since = 0): Promise<number> {
    return eventually(
      `${name} to answer at ${this.#vip}`,
      () => {
        const last = this.#prober.holders.at(-1)
        return last?.name === name && last.at >= since && last.at
      },
      { sight: () => this.#prober.holders.slice(-5), ...WITHIN },
    )
  }

  /** Waits for a holder other than `before`; returns its name. */
  async moves(before: string, since: number): Promise<string> {
    const change = await eventually(
      `somebody other than ${before} to answer at ${this.#vip}`,
      () => this.#prober.movedFrom(before, since),
      { sight: () => this.#prober.holders.slice(-5), ...WITHIN },
    )
    return change.name
  }

  silence(from: number): number {
    return this.#prober.longestGap(from, monotonicMs())
  }

  stop(): Promise<unknown> {
    return this.#prober.stop()
  }
}

const settled = (node: PodNode, container: string) =>
  eventually(`${node.pod} to be ready`, () => node.exec(container, 'holdfast-healthcheck', 'ready').ok, {
    sight: () => node.log(container),
    ...WITHIN,
  })

/**
 * Returns the node that has had the address alone for a while. One advertisement decides between equal nodes that take over together, and
 * the first node that answers may lose.
 */
async function keeper(home: Lab, vip: string, client: Watch, but?: string): Promise<string> {
  let [name, since] = ['', 0]
  const look = () => {
    const now = home.holders(vip).join()
    if (now !== name) [name, since] = [now, monotonicMs()]
    return home.holders(vip).length === 1 && name !== but && monotonicMs() - since >= 500
  }
  await eventually(`one holder of ${vip}${but === undefined ? '' : ` other than ${but}`}`, look, {
    sight: () => name,
    ...WITHIN,
  })
  await client.answers(name)
  return name
}

/**
 * Waits until `by` holds the address alone. A loser answers for some milliseconds, until it has received the winner's advertisement
 * (docs/adr/0045).
 */
const held = (home: Lab, vip: string, by: string) =>
  eventually(`${vip} on ${by} alone`, () => home.holders(vip).join() === by, {
    sight: () => home.holders(vip),
    within: 10_000,
    every: 20,
  })

/** Checks granted and dropped capabilities and limits against the manifest, as the kernel reports them. */
function expectProtected(node: PodNode, container: string, capabilities: string): void {
  const status = readFileSync(`/proc/${node.pid(container)}/status`, 'utf8')
  for (const set of ['CapPrm', 'CapEff', 'CapBnd'])
    expect(status).toMatch(new RegExp(`^${set}:\\s*0*${capabilities}$`, 'm'))
  expect(status).toMatch(/^NoNewPrivs:\s*1$/m)
  expect(status).toMatch(/^Name:\s*(holdfast-guardi|keepalived)/m)
  expect(
    node.exec(container, 'touch', '/opt/written').ok,
    'whether the root file system of the container can be written',
  ).toBe(false)
  expect(node.workingSet(container) / MEBIBYTE).toBeLessThan(128)
}

const TOOLS = ['ip', 'nsenter', 'podman', 'runc', 'catatonit']

const describeStaticPod = (body: () => void) => describeContainer('a static pod', body, TOOLS)

describeStaticPod(() => {
  let lab: Lab | undefined
  let watches: Watch[] = []
  const watch = (home: Lab, vip: string) => {
    const made = new Watch(home, home.client, vip)
    watches.push(made)
    return made
  }
  const within = async (home: Lab, body: () => Promise<void>) => {
    lab = home
    try {
      for (const host of home.routers) startResponder(home, host)
      await body()
    } finally {
      await Promise.allSettled(watches.map((one) => one.stop()))
      watches = []
      podman().removePods()
      home.destroy()
      lab = undefined
    }
  }

  beforeAll(() => {
    buildForOpenShift()
    buildMonitor()
    nodes = new PodNodes([IMAGE, OPENSHIFT, MONITOR])
  }, 600_000)
  afterAll(() => {
    nodes?.destroy()
    lab?.destroy()
  })

  test('the kubeadm manifest keeps the address of the API on one node, whatever pod dies', PATIENCE, async () => {
    const home = createLab({ routers: 3 })
    await within(home, async () => {
      const pods = home.routers.map((host) => {
        const pod = podman().node(host, 'kubeadm-api.yaml', edit)
        const configuration = readFileSync(
          join(packageRoot(), 'deploy', 'static-pod', 'kubeadm-api.holdfast.yaml'),
          'utf8',
        )
        pod.write(
          '/etc/holdfast/holdfast.yaml',
          configuration.replaceAll('10.0.0.200', LAB_VIP).replaceAll('10.0.0.1', '10.77.0.1'),
        )
        return pod
      })
      const podOf = (name: string) => {
        const found = pods.find(({ host }) => host.name === name)
        if (found === undefined) throw new Error(`Cannot find the pod of ${name}`)
        return found
      }
      await Promise.all(pods.map((pod) => pod.start()))
      const client = watch(home, LAB_VIP)
      for (const pod of pods) {
        await settled(pod, 'holdfast')
        expect(pod.live('holdfast')).toBe(true)
        expectProtected(pod, 'holdfast', '3000')
        expect(pod.inspect('holdfast')).toMatchObject({
          HostConfig: { Memory: 256 * MEBIBYTE, ReadonlyRootfs: true, RestartPolicy: { Name: 'always' } },
        })
      }
      const first = await keeper(home, LAB_VIP, client)

      // All processes of a pod end together, so no process is left to send priority 0.
      const killed = podOf(first).kill()
      await client.moves(first, killed)
      podOf(first).startAgain()
      await settled(podOf(first), 'holdfast')
      const holder = await keeper(home, LAB_VIP, client)

      // The first process alone ends. The runtime starts the container again, as kubelet would.
      const guardian = podOf(holder).pid('holdfast')
      process.kill(guardian, 'SIGKILL')
      await eventually(
        'the container to be started again',
        () => ![0, guardian].includes(podOf(holder).pid('holdfast')),
        { sight: () => podOf(holder).log('holdfast'), ...WITHIN },
      )
      await settled(podOf(holder), 'holdfast')

      // The liveness probe of a frozen engine fails. The engine has lost its addresses before the probe asks.
      const frozen = await keeper(home, LAB_VIP, client)
      const [, engine = 0] = familyOf(podOf(frozen).pid('holdfast'))
      const stopped = monotonicMs()
      process.kill(engine, 'SIGSTOP')
      try {
        expect(await client.moves(frozen, stopped)).not.toBe(frozen)
        expect(podOf(frozen).live('holdfast')).toBe(false)
      } finally {
        process.kill(engine, 'SIGCONT')
      }
      await settled(podOf(frozen), 'holdfast')
      expect(podOf(frozen).live('holdfast')).toBe(true)

      // kubelet stops a pod whose manifest is removed. The address must be handed over.
      const leaver = await keeper(home, LAB_VIP, client)
      const asked = monotonicMs()
      await podOf(leaver).stop()
      await client.moves(leaver, asked)
      await keeper(home, LAB_VIP, client, leaver)
      // Without priority 0 the successor would wait for three intervals and more, which is 300 ms.
      judgeTime('milliseconds without an answer while it was handed over', client.silence(asked), 300, 'RFC 9568 §6.1')
    })
  })

  test(
    'in the place of keepalived holdfast serves the monitor, the checks and the ingress of a cluster',
    PATIENCE,
    async () => {
      const home = createLab({ routers: 4 })
      await within(home, async () => {
        const node = (position: number, manifest: string) => podman().node(home.router(position), manifest, edit)
        const bootstrap = node(1, 'openshift-bootstrap.yaml')
        const second = node(2, 'openshift-control-plane.yaml')
        const third = node(3, 'openshift-control-plane.yaml')
        const worker = node(4, 'openshift-ingress.yaml')
        const files = ['bootstrap.conf', 'master.conf', 'master.conf', 'worker.conf']
        for (const [index, pod] of [bootstrap, second, third, worker].entries()) {
          // The following files are written by the operator of the cluster.
          const resources = '/etc/kubernetes/static-pod-resources/keepalived'
          pod.write(`${resources}/keepalived.conf.tmpl`, templateFor(files[index] ?? '', pod.host.address))
          pod.write('/etc/kubernetes/kubeconfig', '')
          pod.write('/var/lib/kubelet/kubeconfig', '')
          pod.write('/opt/openshift/manifests/cluster-config.yaml', '')
          pod.write('/etc/keepalived/.keep', '')
          pod.write('/run/nodeip-configuration/ipv4', pod.host.address)
          pod.write('/usr/bin/crictl', '#!/bin/sh\n[ "$1" = pods ] || echo machine-config-server\n', 0o755)
          for (const [name, text] of Object.entries(scriptsFor(pod.path('/usr/bin/crictl'))))
            pod.write(`${resources}/scripts/${name}.tmpl`, text, 0o755)
        }

        // Ingress routers run on the worker and, not ready, on a control plane node.
        const ports = (pod: PodNode, ...each: string[]) =>
          home.spawn(pod.host, [process.execPath, join(SUPPORT, 'ready-ports.mjs'), pod.path('/'), ...each], {
            stdio: 'ignore',
          })
        third.write('/1936-healthz-ready', '503')
        ports(third, '1936')
        ports(worker, '1936')

        await Promise.all([bootstrap, second, third, worker].map((pod) => pod.start()))
        const api = watch(home, LAB_VIP)
        const ingress = watch(home, INGRESS_VIP)
        // The bootstrap node has the API's address by priority 70 against 40. The worker's ingress router is ready, the other one is only
        // alive.
        await api.answers('r1')
        await ingress.answers('r4')
        await held(home, LAB_VIP, 'r1')
        await held(home, INGRESS_VIP, 'r4')
        for (const pod of [bootstrap, third, worker]) {
          await settled(pod, 'keepalived')
          expect(pod.live('keepalived')).toBe(true)
          expectProtected(pod, 'keepalived', pod === bootstrap ? '3000' : '43000')
        }
        // Without an ingress router the instance is in fault, which is no reason to restart the container.
        expect(second.live('keepalived')).toBe(true)
        expect(second.exec('keepalived', 'holdfast-healthcheck', 'ready').ok).toBe(false)

        // The checks of the file ran with the image's own curl and with chroot into the node. The machine-config-server adds 40 and 3, and
        // a ready router adds 20 and 10.
        const priorities = (pod: PodNode) => {
          const { routers } = JSON.parse(pod.exec('keepalived', 'holdfast', 'status', '--json').said)
          return Object.fromEntries(
            routers.map(({ name, priority }: { name: string; priority: { effective: number } }) => [
              name,
              priority.effective,
            ]),
          )
        }
        await eventually(
          'the weights of the checks that succeed',
          () => priorities(third).ostest_API_0 === 43 && priorities(worker).ostest_INGRESS_0 === 30,
          { sight: () => [priorities(third), priorities(worker)], ...WITHIN },
        )

        // The cluster now has an API, so the monitor of the bootstrap node sends "stop".
        const said = monotonicMs()
        bootstrap.write('/opt/openshift/manifests/stop', '')
        await api.moves('r1', said)
        const holder = await keeper(home, LAB_VIP, api, 'r1')
        // The limit is one Skew_Time of a second. Without priority 0 the outage would last three seconds and more.
        expect(api.silence(said), 'ms without an answer while the bootstrap node handed the address over').toBeLessThan(
          2_500,
        )
        expect(bootstrap.live('keepalived')).toBe(true)
        expect(bootstrap.exec('keepalived', 'holdfast-healthcheck', 'ready').ok).toBe(false)

        const lost = [second, third].find(({ host }) => host.name === holder)
        if (lost === undefined) throw new Error(`Cannot kill the pod of ${holder}: it has the API`)
        const killed = lost.kill()
        expect(await api.moves(holder, killed)).toBe(holder === 'r2' ? 'r3' : 'r2')
        lost.startAgain()

        await settled(third, 'keepalived')
        const gone = worker.kill()
        expect(await ingress.moves('r4', gone)).toBe('r3')
      })
    },
  )
})
