/**
 * The DNS settings of a node at its boot and afterwards. systemd, NetworkManager, the message bus, dnsmasq, CoreDNS and
 * systemd-resolved are real. kubelet and CRI-O are stubs. Every stub writes down its environment when it starts.
 */
import { statSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { API_VIP, CLUSTER, INGRESS_VIP, NODE, NodeNetworkLab, SITE } from '../support/node-network-lab.ts'
import { describeDns } from '../support/require.ts'

const [SECOND, THIRD] = ['10.88.0.2', '10.88.0.3']
let node: NodeNetworkLab
afterEach(() => node?.destroy())

/** Changes of the files that the command writes. A file that is written again has another inode. */
const written = () =>
  ['etc/resolv.conf', 'run/resolv-prepender-kni-conf-done'].map((path) => statSync(node.path(path)).ino)

describeDns('a node that boots', () => {
  test('kubelet starts when resolv.conf names the node first, and resolv.conf follows the servers of DHCP', {
    timeout: 240_000,
  }, async () => {
    node = await NodeNetworkLab.booted({ late: 'on-prem-resolv-prepender' })
    node.startSite([SITE, SECOND, THIRD])
    node.boot()
    await node.until('kubelet to start', () => node.kubelet.length > 0)
    const resolvConf = (...servers: readonly string[]) => [
      `search ${CLUSTER} site.example`,
      ...[NODE, ...servers].map((server, i) => `${i < 3 ? '' : '# '}nameserver ${server}`),
    ]
    expect(node.kubelet, 'the addresses of the node, api-int, and resolv.conf').toEqual([
      ...[NODE, API_VIP],
      ...resolvConf(SITE, SECOND, THIRD),
    ])
    expect(node.text('run/crio').trim()).toBe(NODE)
    expect(node.dig('outside.example')).toBe('NOERROR 198.51.100.1')

    const [before, runs] = [written(), node.runs()]
    node.machine.output('systemctl', 'restart', 'NetworkManager')
    await node.until('another run of the command', () => node.runs() > runs)
    expect(written(), 'nothing is written if nothing changes').toEqual(before)

    node.startSite([SECOND, SITE])
    node.machine.output('nmcli', 'connection', 'up', 'eth0')
    await node.until('the other servers', () => node.resolvConf().join() === resolvConf(SECOND, SITE).join())
  })

  test('with systemd-resolved, kubelet starts after dnsmasq, and a question never comes back to the node', {
    timeout: 240_000,
  }, async () => {
    node = await NodeNetworkLab.booted({ resolved: true, late: 'on-prem-dnsmasq' })
    node.startSite([SITE])
    node.boot()
    await node.until('kubelet to start', () => node.kubelet.length > 0)
    expect(node.kubelet.slice(0, 2)).toEqual([NODE, API_VIP])
    // The command starts at the boot and waits for a DNS server. The search domain of DHCP comes while it runs.
    const settings = `[Resolve]\nDNS=${NODE}\nDomains=${CLUSTER} site.example\n`
    await node.until(
      'the search domain of DHCP',
      () => node.text('etc/systemd/resolved.conf.d/60-kni.conf') === settings,
    )
    expect(node.machine.output('readlink', '/etc/resolv.conf')).toBe('../run/systemd/resolve/stub-resolv.conf')
    await node.until('systemd-resolved to ask the node', () =>
      node.machine.run('resolvectl', 'dns').output.includes(`Global: ${NODE}`),
    )
    // The command restarts systemd-resolved after it has written the file, and then ends.
    await node.until('the command to end', () => !node.isRunning('on-prem-resolv-prepender'))
    await node.until('an answer after the restart', () => node.dig('outside.example') === 'NOERROR 198.51.100.1')
    expect(node.dig('unknown.outside')).toBe('NXDOMAIN')

    node.startCoredns()
    await node.until('dnsmasq to ask CoreDNS', () => node.dig(`x.apps.${CLUSTER}`) === `NOERROR ${INGRESS_VIP}`)
    expect(node.text('etc/holdfast/Corefile')).toContain(`forward . ${SITE} {`)
    expect(node.dig('unknown.outside')).toBe('NXDOMAIN')
    expect(node.dig(`unknown.${CLUSTER}`), 'from CoreDNS, which asks the site').toBe('NXDOMAIN')
  })
}, ['packages of a node', 'dnsmasq', 'busctl'])
