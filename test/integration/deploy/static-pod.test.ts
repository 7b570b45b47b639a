/**
 * deploy/static-pod compared with Kubernetes' published types (package kubernetes-types) and with the pods of keepalived. kubelet ignores
 * an unknown field without a message, so a typing error would stay unnoticed. Decides what a pod needs in keepalived's place.
 * test/container/pods.test.ts runs the pods.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Container, Pod } from 'kubernetes-types/core/v1.js'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { KEEPALIVED_FOLDER } from '../../../src/cli/agent/agent-cluster.ts'
import { agentOrder } from '../../../src/cli/agent/agent-flags.ts'
import { REMOTE_WORKER } from '../../../src/cluster/runtime/machine.ts'
import { formatProblem } from '../../../src/config/problem.ts'
import { PRESET_FILES } from '../../../src/config/schema/preset.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const FOLDER = join(ROOT, 'deploy', 'static-pod')
const MANIFESTS = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml') && !name.endsWith('.holdfast.yaml'))
/** Pods that stand in keepalived's place. The pod of HAProxy has a test of its own (haproxy-pod.test.ts). */
const OTHERS = ['openshift-haproxy.yaml']
const VRRP_MANIFESTS = MANIFESTS.filter((name) => !OTHERS.includes(name))
const BUILD = join(ROOT, 'build')
mkdirSync(BUILD, { recursive: true })
/** Folder inside the package, where the compiler finds the types. */
const workshop = mkdtempSync(join(BUILD, 'static-pod-'))
afterAll(() => rmSync(workshop, { recursive: true, force: true }))

const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const podOf = (name: string): Pod => parse(textOf(name))

/** Returns the compiler's errors about these values, each written as a literal: only for a literal, unknown fields are errors. */
function complaintsAbout(values: Readonly<Record<string, unknown>>): Record<string, string> {
  for (const [name, value] of Object.entries(values))
    writeFileSync(
      join(workshop, `${name}.ts`),
      `import type { Pod } from 'kubernetes-types/core/v1.js'\nexport const pod: Pod = ${JSON.stringify(value, null, 1)}\n`,
    )
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'),
      ...['--ignoreConfig', '--noEmit', '--strict', '--pretty', 'false', '--skipLibCheck', '--types', ''],
      ...['--module', 'nodenext', '--target', 'es2022'],
      ...Object.keys(values).map((name) => join(workshop, `${name}.ts`)),
    ],
    { encoding: 'utf8', cwd: ROOT, timeout: 60_000 },
  )
  const said = `${stdout}${stderr}`
  const complaints = Object.fromEntries(
    Object.keys(values).map((name) => [
      name,
      said
        .split(/^(?=\S)/m)
        .filter((part) => part.includes(`/${name}.ts(`))
        .join(''),
    ]),
  )
  const counted = Object.values(complaints).some((complaint) => complaint !== '')
  if (status === null || (status === 0) === counted || (status !== 0 && !counted))
    throw new Error(`Cannot judge: tsc ended with ${status}: ${said}`)
  return complaints
}

function containerOf(pod: Pod, name: string): Container {
  const found = pod.spec?.containers.find((container) => container.name === name)
  if (found === undefined) throw new Error(`Cannot find the container ${name}`)
  return found
}

/** Returns the container with holdfast in it. */
const daemonOf = (name: string): Container =>
  containerOf(podOf(name), name === 'kubeadm-api.yaml' ? 'holdfast' : 'keepalived')

const mountsOf = (pod: Pod, container: Container) =>
  (container.volumeMounts ?? []).map(({ name, mountPath }) => {
    const volume = pod.spec?.volumes?.find((one) => one.name === name)
    return `${mountPath} <- ${volume?.hostPath?.path ?? (volume?.emptyDir === undefined ? 'nothing' : 'emptyDir')}`
  })

const millicores = (quantity: unknown) =>
  `${quantity}`.endsWith('m') ? Number.parseInt(`${quantity}`, 10) : Number(quantity) * 1000
const mebibytes = (quantity: unknown) =>
  `${quantity}`.endsWith('Mi') ? Number.parseInt(`${quantity}`, 10) : Number.POSITIVE_INFINITY

describe('the manifests of static pods', () => {
  test('are the manifests of the documentation', () => {
    expect(MANIFESTS).toEqual([
      'kubeadm-api.yaml',
      'openshift-agent.yaml',
      'openshift-bootstrap.yaml',
      'openshift-control-plane.yaml',
      'openshift-haproxy.yaml',
      'openshift-ingress.yaml',
    ])
    for (const name of MANIFESTS) expect(readFileSync(join(ROOT, 'docs', 'static-pod.md'), 'utf8')).toContain(name)
  })

  test('have only fields of a Pod, and a typing error is found', { timeout: 60_000 }, () => {
    const slips: Readonly<Record<string, readonly [RegExp | string, string]>> = {
      unknownField: ['hostNetwork:', 'hostNetwrk:'],
      unknownFieldDeep: ['capabilities:', 'capabilties:'],
      wrongType: [/initialDelaySeconds: \d+/, 'initialDelaySeconds: soon'],
    }
    const right = Object.fromEntries(MANIFESTS.map((name) => [name.replace('.yaml', ''), podOf(name)]))
    const text = textOf('kubeadm-api.yaml')
    const wrong = Object.fromEntries(
      Object.entries(slips).map(([name, [from, to]]) => {
        const slipped = text.replace(from, to)
        expect(slipped, name).not.toBe(text)
        return [name, parse(slipped)]
      }),
    )
    const complaints = complaintsAbout({ ...right, ...wrong })
    for (const name of Object.keys(right)) expect(complaints[name], name).toBe('')
    expect(complaints.unknownField).toMatch(/hostNetwrk.*does not exist/)
    expect(complaints.unknownFieldDeep).toMatch(/capabilties.*does not exist/)
    expect(complaints.wrongType).toContain("Type 'string' is not assignable to type 'number'")
  })

  test.each(VRRP_MANIFESTS)('%s has no more rights than the pod of keepalived, and the same protection', (name) => {
    const { spec } = podOf(name)
    expect(spec).toMatchObject({
      hostNetwork: true,
      priorityClassName: 'system-node-critical',
      terminationGracePeriodSeconds: 65,
      tolerations: [{ operator: 'Exists' }],
    })
    const { resources, securityContext, livenessProbe, readinessProbe } = daemonOf(name)
    expect(millicores(resources?.requests?.cpu)).toBeLessThanOrEqual(100)
    expect(mebibytes(resources?.requests?.memory)).toBeLessThanOrEqual(128)
    // A process that has used up its CPU quota stops, and its addresses with it.
    expect(resources?.limits?.cpu).toBeUndefined()
    expect(securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(securityContext?.privileged).toBeUndefined()
    expect(securityContext?.capabilities?.add?.slice(0, 2)).toEqual(['NET_ADMIN', 'NET_RAW'])
    // Each probe of the pod is one plain command: podman joins the words into a line for a shell.
    expect(livenessProbe?.exec?.command).toEqual(['holdfast-healthcheck', 'live'])
    expect(readinessProbe?.exec?.command).toEqual(['holdfast-healthcheck', 'ready'])
    // The probe's timeout is longer than the script's wait for an answer, so that the script can print the reason.
    for (const probe of [livenessProbe, readinessProbe]) expect(probe?.timeoutSeconds).toBeGreaterThan(2)
    expect(livenessProbe?.initialDelaySeconds).toBe(20)
  })

  /** Volumes that only holdfast's pod has. All others are those of keepalived's pod (cluster 4.18). */
  const OWN = ['/run/holdfast <- /run/holdfast', '/tmp <- emptyDir']
  test.each([
    [
      'openshift-control-plane.yaml',
      ['/etc/keepalived <- /etc/keepalived', '/var/run/keepalived <- emptyDir', '/host <- /'],
      [
        '/config <- /etc/kubernetes/static-pod-resources/keepalived',
        '/var/lib/kubelet <- /var/lib/kubelet',
        '/etc/keepalived <- /etc/keepalived',
        '/var/run/keepalived <- emptyDir',
        '/host <- /',
        '/run/nodeip-configuration <- /run/nodeip-configuration',
      ],
    ],
    [
      'openshift-bootstrap.yaml',
      ['/etc/keepalived <- /etc/keepalived', '/var/run/keepalived <- emptyDir'],
      [
        '/config <- /etc/kubernetes/static-pod-resources/keepalived',
        '/etc/kubernetes/kubeconfig <- /etc/kubernetes/kubeconfig',
        '/etc/keepalived <- /etc/keepalived',
        '/var/run/keepalived <- emptyDir',
        '/opt/openshift/manifests <- /opt/openshift/manifests',
      ],
    ],
  ] as const)('%s has the mounts of keepalived', (name, daemon, monitor) => {
    const pod = podOf(name)
    expect(pod.metadata).toMatchObject({ name: 'keepalived', deletionGracePeriodSeconds: 65 })
    expect(mountsOf(pod, containerOf(pod, 'keepalived'))).toEqual([...daemon, ...OWN])
    expect(mountsOf(pod, containerOf(pod, 'keepalived-monitor'))).toEqual(monitor)
  })

  test.each([
    ['openshift-control-plane.yaml', false],
    ['openshift-ingress.yaml', false],
    ['openshift-bootstrap.yaml', true],
  ] as const)('%s: the monitor may be ours, by its image alone', (name, bootstrap) => {
    const { command = [], args = [], env = [] } = containerOf(podOf(name), 'keepalived-monitor')
    const [program, ...words] = [...command, ...args]
    expect(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).toContain(`/usr/local/bin/${program}`)
    const order = agentOrder(words, Object.fromEntries(env.map((each) => [each.name, each.value])))
    if (order.do !== 'run') throw new Error(JSON.stringify(order))
    const { handOver, ...settings } = order.settings
    expect(handOver).toMatchObject({ to: 'keepalived', file: '/etc/keepalived/keepalived.conf' })
    expect(settings).toMatchObject({ bootstrap, unicast: true, print: undefined })
  })

  test('openshift-agent.yaml has holdfast as engine and as agent, with the same paths in both containers', () => {
    const pod = podOf('openshift-agent.yaml')
    const [engine, agent] = [containerOf(pod, 'keepalived'), containerOf(pod, 'keepalived-monitor')]
    expect(agent.image).toBe(engine.image)
    expect(engine.command).toEqual(['holdfast', 'run', '--managed'])
    const [program, command, ...words] = agent.command ?? []
    expect([program, command]).toEqual(['holdfast', 'agent'])
    const given = (agent.env ?? []).map(({ name, value }) => [name, value ?? 'from the API'] as const)
    const order = agentOrder(words, Object.fromEntries(given))
    if (order.do !== 'run') throw new Error(JSON.stringify(order))
    const { handOver, kubeconfig, stateDirectory, status } = order.settings
    expect({ kubeconfig, status }).toEqual({ kubeconfig: '/var/lib/kubelet/kubeconfig', status: true })
    const hostFolder = (of: Container, file: string) => {
      const place = (of.volumeMounts ?? []).find(({ mountPath }) => file.startsWith(`${mountPath}/`))
      const volume = pod.spec?.volumes?.find(({ name }) => name === place?.name)
      return { on: volume?.hostPath?.path ?? volume?.name, readOnly: place?.readOnly ?? false }
    }
    const socket = handOver.to === 'engine' ? handOver.socket : ''
    for (const each of [engine, agent])
      expect(hostFolder(each, socket)).toEqual({ on: '/run/holdfast', readOnly: false })
    // The files below are on the node, because a start without the Kubernetes API uses them.
    for (const [each, file] of [
      [engine, '/var/lib/holdfast/managed.yaml'],
      [agent, join(stateDirectory, 'peers.json')],
    ] as const)
      expect(hostFolder(each, file)).toEqual({ on: '/var/lib/holdfast', readOnly: false })
    // The agent writes these files, and the presets of the engine read them.
    for (const file of Object.values(PRESET_FILES)) {
      const { on, readOnly } = hostFolder(agent, file)
      expect(readOnly, file).toBe(false)
      expect(hostFolder(engine, file).on, file).toBe(on)
    }
    // The agent reads in these files which mode keepalived's group uses, and when the mode changes.
    for (const name of ['keepalived.conf', 'monitor.conf', 'monitor-user.conf'])
      expect(hostFolder(agent, join(KEEPALIVED_FOLDER, name))).toEqual({ on: '/etc/keepalived', readOnly: true })
    for (const each of [engine, agent])
      expect(hostFolder(each, REMOTE_WORKER)).toEqual({ on: '/run/nodeip-configuration', readOnly: true })
    expect(agent.securityContext).toMatchObject({
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'SYS_CHROOT'] },
    })
    expect(mountsOf(pod, agent)).toContain('/host <- /')
  })

  test('use the same pod for a worker and for a control plane node', () => {
    expect(podOf('openshift-ingress.yaml')).toEqual(podOf('openshift-control-plane.yaml'))
  })

  test('have a valid configuration beside the one for kubeadm', () => {
    const name = 'kubeadm-api.holdfast.yaml'
    const parsed = parseConfig(textOf(name), name)
    expect('problems' in parsed ? parsed.problems.map(formatProblem) : []).toEqual([])
  })
})

test('end the engine of a pod with a memory limit before the kernel ends the whole container', () => {
  const { env, resources, securityContext } = daemonOf('kubeadm-api.yaml')
  const [, heap = ''] =
    /^--max-old-space-size=(\d+)$/.exec(env?.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '') ?? []
  const [, limit = ''] = /^(\d+)Mi$/.exec(String(resources?.limits?.memory)) ?? []
  // The worker thread has 64 MiB of its own; code and buffers have some 60 MiB. Node gives the worker the larger of the
  // flag and Node's own bound.
  expect(Number(heap)).toBe(64)
  expect(Number(limit) - Number(heap)).toBeGreaterThanOrEqual(64 + 60)
  expect(securityContext?.seLinuxOptions).toEqual({ type: 'spc_t' })
})

test('give the kubeadm pod the number of its priority class and a seccomp profile', () => {
  const { spec } = podOf('kubeadm-api.yaml')
  expect(spec).toMatchObject({
    priorityClassName: 'system-node-critical',
    priority: 2_000_001_000,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
  })
})
