/**
 * dnsmasq on port 53 of a node, with CoreDNS on port 5353. `holdfast corednsmonitor` gives dnsmasq CoreDNS as a server
 * over a message bus while CoreDNS is healthy. dnsmasq, CoreDNS and the bus are real; the bus belongs to the test.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { monotonicMs } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { DnsLab, DOMAIN } from '../support/dns-lab.ts'
import { describeDns } from '../support/require.ts'

const PORT = 5353
let lab: DnsLab | undefined
let folder = ''
afterEach(async () => {
  await lab?.destroy()
  lab = undefined
  rmSync(folder, { recursive: true, force: true })
})

const busConfiguration = (socket: string): string => `<busconfig>
  <type>system</type>
  <listen>unix:path=${socket}</listen>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
`

class DnsmasqLab {
  readonly dns: DnsLab
  readonly #environment: Readonly<Record<string, string>>
  dnsmasq: LoggedProcess | undefined

  constructor() {
    // The path of a unix socket is short, so the bus has a folder of its own.
    folder = mkdtempSync(join(tmpdir(), 'hf-bus-'))
    this.#environment = { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${join(folder, 'bus')}` }
    this.dns = new DnsLab({
      ...{ apiVips: '10.77.0.100', ingressVips: '10.77.0.101', port: PORT, environment: this.#environment },
      flags: [`--dnsmasq-hosts=${join(folder, 'api-int.hosts')}`],
    })
    lab = this.dns
  }

  async start(): Promise<void> {
    const { cluster, node } = this.dns
    writeFileSync(join(folder, 'bus.conf'), busConfiguration(join(folder, 'bus')))
    const bus = ['dbus-daemon', '--nofork', '--print-address', `--config-file=${join(folder, 'bus.conf')}`]
    await new LoggedProcess(cluster.lab, node, bus).line(/^unix:/, 40_000)
    cluster.register({ name: 'm0', addresses: ['10.77.0.11'] })
    await cluster.apiUp()
    await this.dns.startUpstreams()
    this.dns.startMonitor()
    await this.startDnsmasq()
    await this.dns.startCoredns()
  }

  /** Starts dnsmasq with the shipped configuration, and with the files of the test. */
  async startDnsmasq(): Promise<void> {
    const shipped = readFileSync(join(packageRoot(), 'deploy', 'dns', 'dnsmasq.conf'), 'utf8')
    const text = shipped
      .replace(/^addn-hosts=.*$/m, `addn-hosts=${join(folder, 'api-int.hosts')}`)
      .replace(/^resolv-file=.*$/m, `resolv-file=${this.dns.resolvConf}`)
      .replace(/^(user|group)=dnsmasq$/gm, '$1=root')
    const file = join(folder, 'dnsmasq.conf')
    writeFileSync(file, text)
    const argv = [
      'dnsmasq',
      '--keep-in-foreground',
      '-C',
      file,
      '--log-facility=-',
      `--pid-file=${join(folder, 'pid')}`,
    ]
    this.dnsmasq = new LoggedProcess(this.dns.cluster.lab, this.dns.node, argv, this.#environment)
    await this.dnsmasq.line(/connected to system bus/, 40_000)
  }

  /** Returns the milliseconds until the name of a node has an answer. */
  async untilNamed(): Promise<number> {
    const from = monotonicMs()
    await this.dns.answers(`m0.${DOMAIN}`, 'A', 'NOERROR 10.77.0.11', 20_000, '+time=1')
    return monotonicMs() - from
  }
}

describeDns('dnsmasq in front of CoreDNS', () => {
  test('has CoreDNS as server of the cluster while CoreDNS is healthy, and answers api-int in every case', {
    timeout: 240_000,
  }, async () => {
    const made = new DnsmasqLab()
    await made.start()
    const { dns } = made
    await made.untilNamed()
    expect(dns.dig(`x.apps.${DOMAIN}`, 'A')).toBe('NOERROR 10.77.0.101')
    expect(dns.dig(`api-int.${DOMAIN}`, 'A')).toBe('NOERROR 10.77.0.100')
    expect(dns.dig('outside.example', 'A')).toBe('NOERROR 198.51.100.1')

    dns.coredns?.signal('SIGKILL')
    await dns.coredns?.exited
    // The answer to api-int does not depend on CoreDNS at any moment.
    expect(dns.dig(`api-int.${DOMAIN}`, 'A', '+time=1')).toBe('NOERROR 10.77.0.100')
    await dns.monitor?.line(/dnsmasqTakenBack/, 40_000)
    const from = monotonicMs()
    expect(dns.dig(`m0.${DOMAIN}`, 'A'), 'the upstream server knows no node').toBe('NXDOMAIN')
    expect(dns.dig(`api-int.${DOMAIN}`, 'A')).toBe('NOERROR 10.77.0.100')
    expect(dns.dig(`api-int.${DOMAIN}`, 'AAAA'), 'empty, because the name exists').toBe('NOERROR')
    expect(dns.dig('outside.example', 'A')).toBe('NOERROR 198.51.100.1')
    judgeTime('four answers without a time limit of the client', monotonicMs() - from, 3_000, 'docs/dns.md')

    await dns.startCoredns()
    judgeTime('until the cluster is complete again', await made.untilNamed(), 5_000, 'docs/dns.md')
  })

  test('gets CoreDNS again after a restart of dnsmasq, and loses it when corednsmonitor ends', {
    timeout: 240_000,
  }, async () => {
    const made = new DnsmasqLab()
    await made.start()
    const { dns } = made
    await made.untilNamed()
    made.dnsmasq?.signal('SIGKILL')
    await made.dnsmasq?.exited
    await made.startDnsmasq()
    judgeTime('until the cluster is complete again', await made.untilNamed(), 5_000, 'docs/dns.md')
    dns.monitor?.signal('SIGTERM')
    expect((await dns.monitor?.exited)?.code).toBe(0)
    expect(dns.dig(`m0.${DOMAIN}`, 'A')).toBe('NXDOMAIN')
    expect(dns.dig(`api-int.${DOMAIN}`, 'A')).toBe('NOERROR 10.77.0.100')
  })
}, ['dnsmasq', 'dbus-daemon', 'busctl'])
