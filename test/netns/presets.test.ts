/**
 * The presets on a node (docs/healthchecks.md, "Presets for OpenShift"). Real servers answer on the ports of the presets, and the test
 * writes the files of the node's agent. The outcome must be OpenShift's table of priorities. The paths of the presets are fixed and may be
 * in use on this machine, so the daemon has a /run of its own.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PRESET_FILES } from '../../src/config/schema/preset.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { type Authority, createAuthority } from '../support/certificates.ts'
import { describeNetns } from '../support/require.ts'

/** Limit in ms for rise 3 and fall 3 at an interval of 2 s, on a busy machine. */
const WITHIN = 20_000

describeNetns('the presets for OpenShift on one node with its services', () => {
  let lab: Lab
  let authority: Authority
  let daemon: Holdfast
  let folder = ''

  /** Returns the path on this machine of a path in the daemon's /run. */
  const inRun = (path: string) => join(folder, path.replace(/^\/(var\/)?run\//, 'run/'))
  const say = (question: string, status: number) => writeFileSync(join(folder, question), `${status}`)
  const agent = (path: string, there: boolean) => (there ? writeFileSync(inRun(path), '') : rmSync(inRun(path)))

  beforeAll(async () => {
    lab = createLab({ routers: 1 })
    folder = lab.directory
    authority = createAuthority()
    const { key, cert } = authority.issue('DNS:elsewhere.example')
    writeFileSync(join(folder, 'key.pem'), key)
    writeFileSync(join(folder, 'cert.pem'), cert)
    for (const path of Object.values(PRESET_FILES)) {
      mkdirSync(dirname(inRun(path)), { recursive: true })
      agent(path, true)
    }
    const host = lab.router(1)
    const program = join(import.meta.dirname, '..', 'support', 'ready-ports.mjs')
    const ports = ['9444', '6443s', '1936']
    const services = new LoggedProcess(lab, host, [process.execPath, program, folder, ...ports])
    await services.line(/listening/, WITHIN)
    const shared = { vrid: 51, interface: 'eth0', advertisementInterval: '100ms' }
    const api = { ...shared, name: 'api', addresses: [LAB_VIP], priority: 40, preset: 'openshift-api' }
    const ingress = {
      ...shared,
      ...{ name: 'ingress', vrid: 52, addresses: ['10.77.0.101'], priority: 20, preset: 'openshift-ingress' },
    }
    const ownRun = ['sh', '-c', `mount --bind ${join(folder, 'run')} /run && exec "$@"`, 'own-run']
    daemon = new Holdfast(
      lab,
      { host, priority: 40, intervalMs: 100, address: LAB_VIP },
      {},
      [],
      { virtualRouters: [api, ingress] },
      ownRun,
    )
    await daemon.ready()
  })
  afterAll(() => {
    authority?.remove()
    lab?.destroy()
  })

  const router = async (name: string) => (await daemon.snapshot())?.routers.find((each) => each.name === name)

  const comesTo = (name: string, priority: number, faults: readonly string[], when: string) =>
    eventually(
      `${name} to come to ${priority} [${faults}] ${when}`,
      async () => {
        const seen = await router(name)
        return seen?.priority.effective === priority && seen.faults.join() === faults.join()
      },
      {
        sight: async () => {
          const { priority: sum, faults: present } = (await router(name)) ?? {}
          return { sum, faults: present }
        },
        every: 50,
      },
    )

  test('give the priorities of every row of OpenShift’s table for the API and the ingress', async () => {
    await comesTo('api', 68, [], 'with load balancer, both and machine-config-server')
    await comesTo('ingress', 80, [], 'with a default router that is ready')

    agent(PRESET_FILES.machineConfigServer, false)
    say('1936-healthz-ready', 500)
    await comesTo('api', 65, [], 'without the machine-config-server')
    await comesTo('ingress', 70, [], 'with a default router that is not ready')

    agent(PRESET_FILES.machineConfigServer, true)
    say('9444-haproxy_ready', 503)
    agent(PRESET_FILES.defaultRouter, false)
    await comesTo('api', 48, [], 'with its own API server, whose certificate nobody verifies')
    await comesTo('ingress', 20, [], 'with healthz alone')

    agent(PRESET_FILES.machineConfigServer, false)
    say('6443-readyz', 500)
    say('1936-healthz-ready', 200)
    await comesTo('api', 40, [], 'with nothing')
    await comesTo('ingress', 30, [], 'ready, without a default router')

    say('9444-haproxy_ready', 200)
    agent(PRESET_FILES.iptables, false)
    say('1936-healthz', 503)
    await comesTo('ingress', 30, ['healthcheckDown:openshift-ingress'], 'without healthz')
    expect((await router('ingress'))?.state, 'state of the ingress router whose check is down').toBe('Initialize')
    const haproxy = async () =>
      (await daemon.snapshot())?.healthchecks.find(({ name }) => name === 'openshift-haproxy')?.result
    await eventually('HAProxy to be up again', async () => (await haproxy()) === 'up', { sight: haproxy })
    expect(
      (await router('api'))?.priority.effective,
      'priority of the API router while the load balancer runs without the rules that redirect to it',
    ).toBe(40)
  })
})
