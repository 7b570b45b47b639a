/**
 * The pod of HAProxy compared with OpenShift's: names, ports, paths and times. The commands of the pod are those that
 * the tests in namespaces run: the monitor accepts its arguments, and HAProxy accepts the shipped template.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Container, Pod } from 'kubernetes-types/core/v1.js'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { monitorOrder } from '../../../src/cli/monitor/monitor-flags.ts'
import { balancerValues } from '../../../src/cluster/decisions/haproxy/backends.ts'
import { writeHaproxyFile } from '../../../src/cluster/runtime/haproxy/haproxy-file.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { render } from '../../../src/template/render.ts'
import { address } from '../../../src/wire/address.ts'
import { describeBalancer } from '../../support/require.ts'

const DEPLOY = join(import.meta.dirname, '..', '..', '..', 'deploy')
const TEMPLATE = join(DEPLOY, 'haproxy', 'haproxy.cfg.tmpl')
const pod: Pod = parse(readFileSync(join(DEPLOY, 'static-pod', 'openshift-haproxy.yaml'), 'utf8'))
const containerOf = (name: string): Container => {
  const found = pod.spec?.containers.find((each) => each.name === name)
  if (found === undefined) throw new Error(`Cannot find the container ${name}`)
  return found
}

test('the pod has the names, times and limits of OpenShift’s pod', () => {
  expect(pod.metadata).toMatchObject({ name: 'haproxy', deletionGracePeriodSeconds: 65 })
  expect(pod.spec).toMatchObject({
    hostNetwork: true,
    priorityClassName: 'system-node-critical',
    terminationGracePeriodSeconds: 65,
  })
  expect(pod.spec?.initContainers?.map(({ name }) => name)).toEqual([
    ...['wait-for-ports', 'verify-api-int-resolvable'],
  ])
  expect(containerOf('haproxy').livenessProbe).toEqual({
    httpGet: { path: '/haproxy_ready', port: 9444 },
    initialDelaySeconds: 50,
  })
  const folders = ({ volumeMounts = [] }: Container) => volumeMounts.map(({ mountPath }) => mountPath)
  expect(folders(containerOf('haproxy'))).toEqual(['/etc/haproxy', '/var/run/haproxy'])
  expect(folders(containerOf('haproxy-monitor'))).toEqual([
    ...[
      '/etc/haproxy',
      '/var/run/haproxy',
      '/config',
      '/host',
      '/var/lib/kubelet',
      '/var/lib/holdfast/agent',
      '/run/nodeip-configuration',
    ],
  ])
})

test('the monitor accepts its command, and finds socket and files where the pod has them', () => {
  const [program, ...argv] = containerOf('haproxy-monitor').command ?? []
  expect(program).toBe('monitor')
  const order = monitorOrder(argv)
  expect(order).toMatchObject({ do: 'run', profile: 'fast', notes: [] })
  if (order.do !== 'run') return
  expect(containerOf('haproxy').command).toEqual(['holdfast-haproxy', order.settings.file, order.settings.socket])
  expect(order.settings.listen?.port).toBe(containerOf('haproxy-monitor').livenessProbe?.httpGet?.port)
})

test('no two shipped pods have one port of the node', () => {
  const ports = readdirSync(DEPLOY, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => [...readFileSync(join(DEPLOY, file), 'utf8').matchAll(/--listen=\S*:(\d+)/g)])
    .map(([, port]) => port)
  expect(ports.length).toBeGreaterThanOrEqual(3)
  expect(new Set(ports).size).toBe(ports.length)
})

test('the units of systemd run the commands of the pod, and the monitor ends before HAProxy', () => {
  const lines = (name: string) => readFileSync(join(DEPLOY, 'systemd', name), 'utf8').split('\n')
  const settingOf = (name: string, key: string) =>
    lines(name)
      .find((line) => line.startsWith(`${key}=`))
      ?.slice(key.length + 1)
  const balancer = settingOf('holdfast-haproxy.service', 'ExecStart')
  expect(balancer).toBe(
    `/opt/holdfast/bin/${containerOf('haproxy').command?.join(' ').replaceAll('/var/run/', '/run/')}`,
  )
  const [program, name, ...argv] = settingOf('holdfast-monitor.service', 'ExecStart')?.split(' ') ?? []
  expect([program, name]).toEqual(['/opt/holdfast/bin/holdfast', 'monitor'])
  const order = monitorOrder(argv)
  expect(order).toMatchObject({ do: 'run', notes: [] })
  if (order.do !== 'run') return
  expect(balancer).toContain(` ${order.settings.file} ${order.settings.socket}`)
  // systemd stops units in the reverse order.
  expect(settingOf('holdfast-monitor.service', 'After')?.split(' ')).toContain('holdfast-haproxy.service')
})

test('only the monitor has a capability, and only those that it needs', () => {
  expect(containerOf('haproxy').securityContext?.capabilities).toEqual({ drop: ['ALL'] })
  expect(containerOf('haproxy-monitor').securityContext?.capabilities).toEqual({
    drop: ['ALL'],
    add: ['NET_ADMIN', 'SYS_CHROOT'],
  })
})

describeBalancer('the shipped template of haproxy.cfg', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hf-haproxy-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const backends = (count: number, first: string) =>
    Array.from({ length: count }, (_, i) => ({
      host: `master-${i}`,
      address: address(`${first}${i + 1}`),
      port: 6443,
    }))
  const ports = { apiPort: 6443, lbPort: 9445, statPort: 29_445 }

  test.each([
    [1, 'ipv4', '192.168.111.'],
    [3, 'ipv4', '192.168.111.'],
    [5, 'ipv4', '192.168.111.'],
    [1, 'ipv6', 'fd2e:6f44:5dd8:c956::'],
    [3, 'ipv6', 'fd2e:6f44:5dd8:c956::'],
    [5, 'ipv6', 'fd2e:6f44:5dd8:c956::'],
  ] as const)('is valid for HAProxy with %i API servers of %s', async (count, family, first) => {
    const file = join(folder, `haproxy-${family}-${count}.cfg`)
    const list = backends(count, first)
    const options = { template: TEMPLATE, file, haproxy: 'haproxy', render }
    expect(await writeHaproxyFile(options, balancerValues(list, family, ports))).toEqual({ result: 'written' })
    const text = readFileSync(file, 'utf8')
    for (const { host, address: at } of list) expect(text).toContain(`\n  server ${host} ${at}:6443\n`)
    for (const port of [':::9445 v4v6', ':::9444 v4v6', ':::9454 v4v6', 'localhost:29445'])
      expect(text).toContain(`  bind ${port}\n`)
    expect(spawnSync('haproxy', ['-c', '-f', file]).status).toBe(0)
    expect(await writeHaproxyFile(options, balancerValues(list, family, ports))).toEqual({ result: 'same' })
  })

  test('is refused with the line of HAProxy if a value makes it invalid, and the old file stays', async () => {
    const file = join(folder, 'kept.cfg')
    writeFileSync(file, 'old')
    const template = join(folder, 'odd.tmpl')
    writeFileSync(template, `${readFileSync(TEMPLATE, 'utf8')}\nnonsense {{ .LBConfig.LbPort }}\n`)
    const options = { template, file, haproxy: 'haproxy', render }
    const values = balancerValues(backends(1, '10.0.0.'), 'ipv4', ports)
    const refused = await writeHaproxyFile(options, values)
    expect(refused).toMatchObject({ result: 'refused', reason: expect.stringContaining("unknown keyword 'nonsense'") })
    expect(readFileSync(file, 'utf8')).toBe('old')
    const unchecked = await writeHaproxyFile({ ...options, haproxy: '/nowhere/haproxy' }, values)
    expect(unchecked).toMatchObject({ result: 'unchecked', reason: expect.stringContaining('ENOENT') })
    expect(readFileSync(file, 'utf8')).toContain('nonsense 9445')
  })
})

test('holdfast-haproxy ends HAProxy by SIGUSR1 although the file "stopping" cannot be written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hf-haproxy-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [cfg, run, log] = [join(folder, 'haproxy.cfg'), join(folder, 'run'), join(folder, 'log')]
  writeFileSync(cfg, 'global\n')
  mkdirSync(run)
  const loop = 'i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done'
  const program = `#!/bin/sh\ntrap 'echo ended >>${log}; exit 0' USR1\necho up >>${log}\n${loop}\n`
  writeFileSync(join(folder, 'haproxy'), program, { mode: 0o755 })
  const script = join(import.meta.dirname, '..', '..', '..', 'bin', 'holdfast-haproxy')
  const started = spawn(script, [cfg, join(run, 'master.sock')], { env: { PATH: `${folder}:${process.env.PATH}` } })
  const ended = new Promise<number | null>((resolve) => started.on('close', resolve))
  await eventually('HAProxy', () => existsSync(log), { sight: () => started.exitCode, within: 10_000, every: 20 })
  rmSync(run, { recursive: true })
  started.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(readFileSync(log, 'utf8')).toBe('up\nended\n')
}, 30_000)
