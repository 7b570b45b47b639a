/**
 * The files of deploy/dns: the pod has a command line that corednsmonitor accepts, and every path of it on a volume. The
 * dispatcher script runs in a folder of the test. kubelet does not run the pod here.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Container, Pod } from 'kubernetes-types/core/v1.js'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { monitorOrder } from '../../../src/cli/dns/monitor-flags.ts'
import { DONE } from '../../../src/cluster/runtime/dns/resolv-prepender.ts'

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'deploy', 'dns')
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const pod: Pod = parse(textOf('openshift-coredns.yaml'))
const containers: readonly Container[] = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]

function settingsOf({ command = [] }: Container) {
  const [program, name, ...argv] = command
  expect([program, name]).toEqual(['holdfast', 'corednsmonitor'])
  const order = monitorOrder(argv, {})
  if (order.do !== 'run') throw new Error(`Cannot run ${command.join(' ')}: ${JSON.stringify(order)}`)
  return order.settings
}

describe('the pod of CoreDNS', () => {
  const [, init, coredns, monitor] = containers
  if (init === undefined || coredns === undefined || monitor === undefined)
    throw new Error('Cannot find the containers')

  test('runs corednsmonitor with settings that it accepts, once before CoreDNS and then beside it', () => {
    const { once, ...first } = settingsOf(init)
    const { once: again, listen, report, nodesFrom, ...second } = settingsOf(monitor)
    expect([once, again]).toEqual([true, false])
    expect({ ...first, listen, report }).toEqual({ ...second, listen, report, nodesFrom: undefined })
    const agent: Pod = parse(readFileSync(join(FOLDER, '..', 'static-pod', 'openshift-agent.yaml'), 'utf8'))
    // The state folder of an agent without --state-dir.
    expect(nodesFrom).toBe('/var/lib/holdfast/agent')
    const reader = agent.spec?.containers.find(({ command }) => command?.includes(`--dns-report=${report}`))
    const mount = (of: Container | undefined) =>
      of?.volumeMounts?.find(({ mountPath }) => report?.startsWith(`${mountPath}/`))
    expect([mount(monitor)?.readOnly, mount(reader)?.readOnly], 'the agent reads the report').toEqual([undefined, true])
    for (const [each, volumes] of [
      [mount(monitor), pod.spec?.volumes],
      [mount(reader), agent.spec?.volumes],
    ] as const)
      expect(volumes?.find(({ name }) => name === each?.name)?.hostPath?.path).toBe('/run/holdfast-dns')
    expect(monitor.livenessProbe?.httpGet).toMatchObject({ host: listen?.host, port: listen?.port, path: '/healthz' })
    expect(coredns.livenessProbe?.httpGet?.port).toBe(second.healthPort)
    expect(coredns.args).toEqual(['--conf', second.corefile])
  })

  test.each([init, monitor])('has every file of $name on a volume, and may write the Corefile only', (container) => {
    const { corefile, kubeconfig, resolvConf, template } = settingsOf(container)
    const mountOf = (path: string) => container.volumeMounts?.find(({ mountPath }) => path.startsWith(`${mountPath}/`))
    const volumes = pod.spec?.volumes?.map(({ name }) => name)
    for (const path of [corefile, kubeconfig, resolvConf, template, '/run/nodeip-configuration/ipv4'])
      expect(volumes, path).toContain(mountOf(path)?.name)
    expect(mountOf(corefile)?.readOnly).toBeUndefined()
    for (const path of [kubeconfig, resolvConf, template]) expect(mountOf(path)?.readOnly, path).toBe(true)
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
  })
})

test('the unit of kubelet waits for the file that resolv-prepender writes last', () => {
  expect(textOf('10-wait-resolv.conf')).toContain(`test -f /${DONE} ||`)
})

test('the dispatcher script writes the domains of DHCP once, and ignores other events', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hf-dispatcher-'))
  try {
    const script = join(folder, 'script')
    writeFileSync(script, textOf('30-resolv-prepender').replaceAll('/run/', `${folder}/`))
    const run = (event: string, domains: string) =>
      spawnSync('sh', [script, 'eth0', event], { env: { PATH: process.env.PATH, IP4_DOMAINS: domains } }).status
    const env = join(folder, 'resolv-prepender', 'env')
    expect(run('down', 'lan')).toBe(0)
    expect(existsSync(env)).toBe(false)
    expect(run('up', 'lan')).toBe(0)
    expect(readFileSync(env, 'utf8')).toBe('IP4_DOMAINS=lan\nIP6_DOMAINS=\n')
    expect(run('dns-change', 'lan corp')).toBe(0)
    expect(readFileSync(env, 'utf8')).toBe('IP4_DOMAINS=lan corp\nIP6_DOMAINS=\n')
    // After the first dns-change, the other events do nothing.
    expect(run('up', 'other')).toBe(0)
    expect(readFileSync(env, 'utf8')).toBe('IP4_DOMAINS=lan corp\nIP6_DOMAINS=\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
