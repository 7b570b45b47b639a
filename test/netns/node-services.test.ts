/**
 * nodeip-configuration.service under a real systemd, in both forms. Stubs of kubelet and CRI-O write down the environment
 * with which systemd starts them. The order of the units is that of OpenShift.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { eventually } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'
import { SystemdLab } from '../support/systemd-lab.ts'

const PARTS = ['bin', 'dist/bundle', 'native/prebuilds', 'node_modules/node-gyp-build', 'package.json']
const UNITS: Readonly<Record<string, string>> = {
  'NetworkManager-wait-online.service': '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo online >>/run/order"\n',
  'kubelet-dependencies.target': '[Unit]\nBefore=kubelet.service\n',
  'ovs-configuration.service':
    '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo ovs $(cat /run/nodeip-configuration/primary-ip) >>/run/order"\n',
  'crio.service':
    '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo crio $${CONTAINER_STREAM_ADDRESS} >>/run/order"\n[Unit]\nAfter=kubelet-dependencies.target\n',
  'kubelet.service':
    '[Unit]\nRequires=kubelet-dependencies.target\nAfter=kubelet-dependencies.target crio.service ovs-configuration.service\nWants=crio.service ovs-configuration.service\n' +
    '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo kubelet $${KUBELET_NODE_IP} $${KUBELET_NODE_IPS} >>/run/order"\n',
}

let machine: SystemdLab | undefined
afterEach(() => {
  machine?.destroy()
  machine = undefined
})

/** Returns a machine with two links, on which kubelet waits for nodeip-configuration.service. */
async function booted(unit: string, edit: (text: string) => string): Promise<SystemdLab> {
  const lab = await SystemdLab.booted()
  machine = lab
  for (const part of PARTS) {
    mkdirSync(join(lab.root, 'opt/holdfast', part, '..'), { recursive: true })
    cpSync(join(packageRoot(), part), join(lab.root, 'opt/holdfast', part), { recursive: true })
  }
  const folder = join(lab.root, 'etc/systemd/system')
  for (const [name, text] of Object.entries(UNITS)) writeFileSync(join(folder, name), text)
  const shipped = readFileSync(join(packageRoot(), 'deploy/systemd', unit), 'utf8')
  writeFileSync(join(folder, 'nodeip-configuration.service'), edit(shipped))
  for (const line of [
    'link set lo up',
    'link add eth0 type veth peer name far0',
    'link add eth1 type veth peer name far1',
    ...['eth0', 'far0', 'eth1', 'far1'].map((name) => `link set ${name} up`),
    'address add fd00::5/64 dev eth0 nodad',
    'address add 192.168.1.2/24 dev eth1',
  ])
    lab.output('ip', ...line.split(' '))
  lab.output('systemctl', 'daemon-reload')
  lab.output('systemctl', 'enable', 'nodeip-configuration')
  return lab
}

const orderOf = (lab: SystemdLab) => lab.run('cat', '/run/order').output.trim().split('\n')
const status = (lab: SystemdLab) =>
  lab.run('systemctl', 'status', '--no-pager', 'nodeip-configuration', 'kubelet').output

describeNetns('nodeip-configuration.service', () => {
  test('kubelet waits for the address in the network of the VIPs, and kubelet, CRI-O and ovs-configuration get it', {
    timeout: 120_000,
  }, async () => {
    const lab = await booted('nodeip-configuration.service', (text) =>
      text.replace('"VIPS="', '"VIPS=10.0.0.100 10.0.0.101"'),
    )
    lab.output('systemctl', 'start', '--no-block', 'kubelet')
    await eventually('NetworkManager to be online', () => orderOf(lab).includes('online'), { sight: () => status(lab) })
    // The address comes late, as from a slow DHCP server. Until the node has the address, kubelet does not start.
    await eventually('the unit to wait for an address', () => status(lab).includes('no usable address yet'), {
      sight: () => status(lab),
    })
    expect(orderOf(lab)).toEqual(['online'])
    lab.output('ip', 'address', 'add', '10.0.0.5/24', 'dev', 'eth0')
    await eventually('kubelet to start', () => orderOf(lab).length === 4, { sight: () => status(lab), within: 20_000 })
    expect(orderOf(lab).toSorted()).toEqual([
      'crio 10.0.0.5',
      'kubelet 10.0.0.5 10.0.0.5,fd00::5',
      'online',
      'ovs 10.0.0.5',
    ])
    expect(orderOf(lab).at(-1)).toMatch(/^kubelet/)
  })

  test.each([
    ['NODEIP_HINT=192.168.1.0', '192.168.1.2'],
    ['KUBELET_NODEIP_HINT=10.0.0.0', '10.0.0.5'],
    ['NODEIP_HINT=192.168.1.0\nKUBELET_NODEIP_HINT=10.0.0.0', '192.168.1.2'],
  ])('without VIPs, the file with %j gives kubelet the address %s', { timeout: 120_000 }, async (hint, address) => {
    const lab = await booted('nodeip-configuration-without-vips.service', (text) => text)
    lab.output('ip', 'address', 'add', '10.0.0.5/24', 'dev', 'eth0')
    writeFileSync(join(lab.root, 'etc/default/nodeip-configuration'), `${hint}\n`)
    lab.output('systemctl', 'start', 'kubelet')
    const [kubelet = ''] = orderOf(lab).filter((line) => line.startsWith('kubelet'))
    expect(kubelet.split(' ')[1], status(lab)).toBe(address)
    expect(orderOf(lab)).toContain(`crio ${address}`)
    expect(readFileSync(join(lab.root, 'run/nodeip-configuration/primary-ip'), 'utf8')).toBe(address)
  })

  test('if the command fails, the unit repeats it every 5 seconds, and kubelet starts after the first success', {
    timeout: 120_000,
  }, async () => {
    const lab = await booted('nodeip-configuration.service', (text) => text.replace('"VIPS="', '"VIPS=10.0.0.100"'))
    lab.output('ip', 'address', 'add', '10.0.0.5/24', 'dev', 'eth0')
    lab.output(
      'sh',
      '-c',
      'mkdir -p /etc/systemd/system/crio.service.d && mount -t tmpfs -o ro none /etc/systemd/system/crio.service.d',
    )
    lab.output('systemctl', 'start', '--no-block', 'kubelet')
    await eventually('the unit to report the read-only folder', () => status(lab).includes('EROFS'), {
      sight: () => status(lab),
      within: 10_000,
    })
    expect(orderOf(lab)).toEqual(['online'])
    expect(lab.run('ls', '/run/nodeip-configuration').output, 'files of a choice that was not stored').toBe('')
    lab.output('umount', '/etc/systemd/system/crio.service.d')
    await eventually('kubelet to start', () => orderOf(lab).some((line) => line.startsWith('kubelet 10.0.0.5')), {
      sight: () => status(lab),
      within: 20_000,
    })
  })
})
