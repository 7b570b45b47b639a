/**
 * The shutdown of a node under a real systemd, with the shipped units. r1 is a separate machine with systemd, and holds the address.
 * The lab has two more routers, r2 and r3. A client sends a probe each millisecond. A unit on r1 answers the probes, as haproxy does.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot, probePath } from '../../src/lab/installation.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { PROBE_PORT, Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { describeNetns } from '../support/require.ts'
import { SystemdLab } from '../support/systemd-lab.ts'

const PARTS = ['bin', 'dist/bundle', 'native/prebuilds', 'node_modules/node-gyp-build', 'package.json']
/** Answers probes until its stop, which takes 3 s. As haproxy, the unit starts after holdfast, so it stops before holdfast. */
const SERVICE = `[Unit]
After=holdfast.service
[Service]
ExecStart=/opt/probe respond r1 ${PROBE_PORT}
ExecStop=/bin/sh -c 'cut -d " " -f 1 /proc/uptime >/run/stopping; kill $MAINPID; sleep 3'
[Install]
WantedBy=multi-user.target
`

let lan: Lab | undefined
let machine: SystemdLab | undefined
afterEach(() => {
  machine?.destroy()
  lan?.destroy()
  machine = undefined
  lan = undefined
})

/** Builds the LAN. Resolves when r1, the machine with systemd, answers the client. */
async function running({ unit }: { readonly unit: 'with' | 'without' }) {
  const lab = createLab({ routers: 3 })
  lan = lab
  const booted = await SystemdLab.booted()
  machine = booted
  const [first, ...others] = lab.routers
  if (first === undefined) throw new Error('the lab has no router')
  const plan = { intervalMs: 100, address: LAB_VIP }
  const daemons = others.map((host, index) => {
    startResponder(lab, host)
    return new Holdfast(lab, { ...plan, host, priority: 150 - 50 * index })
  })
  for (const daemon of daemons) await daemon.ready()

  ip(first, `link set eth0 netns ${booted.root.split('/')[2]}`)
  for (const line of [`address add ${first.address}/24 dev eth0`, 'link set eth0 up', 'link set lo up'])
    booted.output('ip', ...line.split(' '))
  const at = (...path: string[]) => join(booted.root, ...path)
  for (const part of PARTS) {
    mkdirSync(at('opt/holdfast', part, '..'), { recursive: true })
    cpSync(join(packageRoot(), part), at('opt/holdfast', part), { recursive: true })
  }
  cpSync(probePath(), at('opt/probe'))
  booted.output('useradd', '--system', 'holdfast')
  mkdirSync(at('etc/holdfast'))
  writeFileSync(
    at('etc/holdfast/holdfast.yaml'),
    holdfastConfig({ ...plan, host: first, priority: 200 }, '/run/holdfast'),
  )
  booted.output('chmod', '-R', 'a+rX', '/etc/holdfast', '/opt')
  const units = ['holdfast.service', ...(unit === 'with' ? ['holdfast-resign.service'] : [])]
  for (const name of units) cpSync(join(packageRoot(), 'deploy/systemd', name), at('etc/systemd/system', name))
  writeFileSync(at('etc/systemd/system/api.service'), SERVICE)
  // The machine has no other service to start.
  booted.output('sh', '-c', 'rm -rf /lib/systemd/system/*.wants /etc/systemd/system/*.wants')
  booted.output('systemctl', 'daemon-reload')
  booted.output('systemctl', 'enable', 'holdfast', 'api')
  booted.output('systemctl', 'start', 'multi-user.target')
  const early = new Prober(lab, lab.client, LAB_VIP)
  await eventually('r1 to answer the client', () => early.holder === 'r1', {
    sight: () => booted.run('systemctl', 'status', '--no-pager', 'holdfast', 'api').output,
    within: 15_000,
  })
  await early.stop()
  // Probes that were lost before the shutdown do not count.
  const prober = new Prober(lab, lab.client, LAB_VIP)
  await prober.answeredBy('r1')
  return { lab, booted, prober }
}

/**
 * Orders a shutdown. Resolves with the time at which the service on r1 began to stop, the first answer of another node, and the
 * number of lost probes.
 */
async function shutDown({ booted, prober }: Awaited<ReturnType<typeof running>>, order: 'poweroff' | 'reboot') {
  const file = join(booted.root, 'run/stopping')
  const orderedAt = monotonicMs()
  booted.run('systemctl', '--no-block', order)
  const stoppedAt = await eventually(
    'the service on r1 to be stopped',
    () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n') && 1_000 * Number(readFileSync(file, 'utf8')),
    { sight: () => booted.run('systemctl', 'list-jobs', '--no-pager').output, within: 30_000, every: 20 },
  )
  await eventually('the machine to be off', () => !existsSync(booted.root), {
    sight: () => booted.run('systemctl', 'list-jobs', '--no-pager').output,
    within: 40_000,
  })
  await prober.answeredBy('r2')
  const { lost } = await prober.stop()
  const moved = prober.movedFrom('r1', orderedAt)
  return { stoppedAt, lost, moved }
}

describeNetns('the shutdown of a node', () => {
  test.each(['poweroff', 'reboot'] as const)(
    'systemctl %s moves the address before any other unit stops, and the client loses no probe',
    { timeout: 120_000 },
    async (order) => {
      const group = await running({ unit: 'with' })
      const { stoppedAt, lost, moved } = await shutDown(group, order)
      expect(moved?.name, 'node that answers the client').toBe('r2')
      expect(moved?.at, `ms at which r2 answered; the service on r1 began to stop at ${stoppedAt}`).toBeLessThan(
        stoppedAt + 10,
      )
      expect(lost, 'probes that were never answered').toBe(0)
    },
  )

  test('without holdfast-resign.service the service stops first, and the client loses probes', {
    timeout: 120_000,
  }, async () => {
    const group = await running({ unit: 'without' })
    const { stoppedAt, lost, moved } = await shutDown(group, 'poweroff')
    expect(moved?.at, 'ms at which r2 answered').toBeGreaterThan(stoppedAt)
    expect(lost, 'probes that were never answered').toBeGreaterThan(100)
  })
})
