/**
 * A machine with systemd, the message bus, NetworkManager and systemd-resolved of Debian, and with holdfast's units of
 * a node. The network of this machine has one more host, `site`, with a DHCP and DNS server. This file decides names
 * and addresses. This file does not know what a test is about.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import { eventually } from '../../src/lab/wait.ts'
import { corednsProgram, nodePackages } from './require.ts'
import { SystemdLab } from './systemd-lab.ts'

const PARTS = ['bin', 'dist/bundle', 'native/prebuilds', 'node_modules/node-gyp-build', 'package.json']
const FAR = ['ip', 'netns', 'exec', 'site']
export const CLUSTER = 'ostest.example.com'
export const API_VIP = '10.88.0.100'
export const INGRESS_VIP = '10.88.0.101'
export const NODE = '10.88.0.5'
export const SITE = '10.88.0.1'
const MAC = '02:00:00:00:00:05'

/** Seconds by which a unit of a test starts late. */
const LATE = 2

const DEPLOYED: Readonly<Record<string, string>> = {
  'dns/99-resolv-unmanaged.conf': 'etc/NetworkManager/conf.d',
  'dns/30-resolv-prepender': 'etc/NetworkManager/dispatcher.d',
  'dns/on-prem-resolv-prepender.path': 'etc/systemd/system',
  'dns/on-prem-resolv-prepender.service': 'etc/systemd/system',
  'dns/10-wait-resolv.conf': 'etc/systemd/system/kubelet.service.d',
  'dns/dnsmasq.conf': 'etc/holdfast/dnsmasq',
  'dns/Corefile.tmpl': 'etc/holdfast',
  'dns/on-prem-dnsmasq.service': 'etc/systemd/system',
  'systemd/nodeip-configuration.service': 'etc/systemd/system',
}

/** The files of an administrator for this cluster. The stubs of kubelet and CRI-O write down their environment. */
const FILES: Readonly<Record<string, string>> = {
  'etc/holdfast/resolv-prepender': `ARGUMENTS=--domain=${CLUSTER} ${API_VIP} ${INGRESS_VIP}\n`,
  'etc/holdfast/dnsmasq/api-int.hosts': `${API_VIP} api-int.${CLUSTER}\n`,
  'etc/holdfast/kubeconfig': `{ clusters: [{ name: c, cluster: { server: "https://api-int.${CLUSTER}:6443" } }], users: [{ name: u, user: { token: t } }], contexts: [{ name: x, context: { cluster: c, user: u } }], current-context: x }\n`,
  'etc/default/nodeip-configuration': `VIPS=${API_VIP} ${INGRESS_VIP}\n`,
  'etc/sysusers.d/dnsmasq.conf': 'g dnsmasq -\nu dnsmasq -:dnsmasq\n',
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  'etc/NetworkManager/system-connections/eth0.nmconnection':
    '[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=auto\n[ipv6]\nmethod=ignore\n',
  'etc/systemd/system/kubelet-dependencies.target': '[Unit]\nBefore=kubelet.service\n',
  'etc/systemd/system/crio.service':
    '[Unit]\nAfter=kubelet-dependencies.target\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c "echo $${CONTAINER_STREAM_ADDRESS} >/run/crio"\n',
  'etc/systemd/system/kubelet.service': `[Unit]
Requires=kubelet-dependencies.target
After=kubelet-dependencies.target crio.service
Wants=crio.service
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/sh -c '{ echo "$\${KUBELET_NODE_IPS}"; getent ahostsv4 api-int.${CLUSTER} | head -n 1 | cut -d " " -f 1; grep -v "^#.*holdfast" /etc/resolv.conf; } >/run/kubelet.new; mv /run/kubelet.new /run/kubelet; exec sleep infinity'
Restart=always
RestartSec=1
`,
}

export class NodeNetworkLab {
  readonly machine: SystemdLab
  #sites = 0

  private constructor(machine: SystemdLab) {
    this.machine = machine
  }

  /** Starts the machine, without any of the node's services. `late`: a unit whose start takes seconds. */
  static async booted({
    late,
    resolved = false,
  }: {
    readonly late: string
    readonly resolved?: boolean
  }): Promise<NodeNetworkLab> {
    const lab = new NodeNetworkLab(await SystemdLab.booted())
    try {
      lab.#unpack(resolved)
      lab.#install(late)
      lab.#build()
      return lab
    } catch (error) {
      lab.destroy()
      throw error
    }
  }

  #unpack(resolved: boolean): void {
    const debs = nodePackages() ?? ''
    for (const deb of readdirSync(debs).filter((name) => resolved || !name.startsWith('systemd-resolved_'))) {
      const script = 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink'
      const { status, stderr } = spawnSync('sh', ['-c', script, 'sh', join(debs, deb), this.machine.root], {
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(`Cannot unpack ${deb}: ${stderr}`)
    }
    this.machine.output('rm', '-f', '/etc/resolv.conf')
    if (resolved) this.machine.output('ln', '-s', '../run/systemd/resolve/stub-resolv.conf', '/etc/resolv.conf')
  }

  #install(late: string): void {
    for (const part of PARTS) {
      mkdirSync(this.path('opt/holdfast', part, '..'), { recursive: true })
      cpSync(join(packageRoot(), part), this.path('opt/holdfast', part), { recursive: true })
    }
    for (const [file, folder] of Object.entries(DEPLOYED)) {
      mkdirSync(this.path(folder), { recursive: true })
      cpSync(join(packageRoot(), 'deploy', file), this.path(folder, file.split('/')[1] ?? ''))
    }
    const drop = { [`etc/systemd/system/${late}.service.d/late.conf`]: `[Service]\nExecStartPre=/bin/sleep ${LATE}\n` }
    for (const [file, text] of Object.entries({ ...FILES, ...drop })) {
      mkdirSync(this.path(file, '..'), { recursive: true })
      // NetworkManager accepts no file with passwords that others may read.
      writeFileSync(this.path(file), text, { mode: file.endsWith('.nmconnection') ? 0o600 : 0o644 })
    }
    this.machine.output('chmod', '755', '/etc/NetworkManager/dispatcher.d/30-resolv-prepender')
    this.machine.output('systemd-sysusers')
    this.machine.output('systemctl', 'daemon-reload')
    const enabled = ['NetworkManager', 'nodeip-configuration', 'on-prem-dnsmasq', 'on-prem-resolv-prepender.path']
    this.machine.output('systemctl', 'enable', ...enabled, 'on-prem-resolv-prepender')
    if (existsSync(this.path('usr/bin/resolvectl'))) this.machine.output('systemctl', 'enable', 'systemd-resolved')
  }

  #build(): void {
    // NetworkManager does not wait for udev, which does not run here, if it cannot write below /sys.
    this.machine.output('mount', '-o', 'remount,bind,ro', '/sys')
    for (const line of [
      'netns add site',
      'link set lo up',
      `link add eth0 address ${MAC} type veth peer name far netns site`,
      '-n site link set lo up',
      '-n site link set far up',
      `-n site address add ${SITE}/24 dev far`,
    ])
      this.machine.output('ip', ...line.split(' '))
  }

  /** Starts the services of the node, as its boot does. */
  boot(): void {
    this.machine.output('systemctl', 'start', '--no-block', 'multi-user.target', 'kubelet')
  }

  /** Starts the DHCP and DNS server of the site again. `servers`: DNS servers that a client gets by DHCP. */
  startSite(servers: readonly string[]): void {
    const argv = [
      ...[
        '--keep-in-foreground',
        '--conf-file=/dev/null',
        '--no-hosts',
        '--no-resolv',
        '--bind-interfaces',
        '--user=root',
      ],
      ...[
        '--interface=far',
        '--pid-file=/run/site.pid',
        '--dhcp-leasefile=/run/site.leases',
        '--dhcp-authoritative',
        '--no-ping',
      ],
      ...[
        `--dhcp-range=${SITE.replace(/1$/, '0')},static`,
        `--dhcp-host=${MAC},${NODE}`,
        `--dhcp-option=6,${servers.join(',')}`,
      ],
      ...[
        '--dhcp-option=15,site.example',
        '--address=/outside.example/198.51.100.1',
        '--local=//',
        `--local=/outside/${CLUSTER}/`,
      ],
    ]
    // systemd may still have a unit that was stopped, so each start has a name of its own.
    this.machine.run('systemctl', 'stop', `site${this.#sites++}`)
    this.machine.output('systemd-run', `--unit=site${this.#sites}`, '--collect', ...FAR, 'dnsmasq', ...argv)
  }

  /** Starts CoreDNS on port 5353 and corednsmonitor, which finds no API. */
  startCoredns(): void {
    const template = this.path('etc/holdfast/Corefile.tmpl')
    writeFileSync(template, readFileSync(template, 'utf8').replace(/^\. \{$/m, '.:5353 {'))
    cpSync(corednsProgram() ?? '', this.path('opt/coredns'))
    const argv = [
      '/opt/holdfast/bin/holdfast',
      'corednsmonitor',
      '/etc/holdfast/kubeconfig',
      '/etc/holdfast/Corefile.tmpl',
    ]
    argv.push('/etc/holdfast/Corefile', '--api-vips', API_VIP, '--ingress-vips', INGRESS_VIP)
    this.machine.output(...argv, '--once')
    const run = (unit: string, ...words: string[]) => this.machine.output('systemd-run', `--unit=${unit}`, ...words)
    run('coredns', '/opt/coredns', '-conf', '/etc/holdfast/Corefile')
    run('corednsmonitor', ...argv, '--dnsmasq-hosts=/etc/holdfast/dnsmasq/api-int.hosts')
  }

  /** Returns the status and the addresses that a DNS client on the node gets, by the servers of its resolv.conf. */
  dig(name: string): string {
    const { output } = this.machine.run('dig', '+time=5', '+tries=1', '+noall', '+comments', '+answer', name, 'A')
    const [, status = 'no answer'] = /status: (\w+)/.exec(output) ?? []
    return [status, ...output.split('\n').flatMap((line) => /\sA\s+(\S+)$/.exec(line)?.[1] ?? [])].join(' ')
  }

  /** Returns the lines that the stub of kubelet has written; empty if kubelet has not started. */
  get kubelet(): readonly string[] {
    return this.text('run/kubelet').split('\n').filter(Boolean)
  }

  /** Returns the lines of resolv.conf, without those that name its author. */
  resolvConf(): readonly string[] {
    return this.text('etc/resolv.conf')
      .split('\n')
      .filter((line) => line !== '' && !/^#.*holdfast/.test(line))
  }

  isRunning(unit: string): boolean {
    const { output } = this.machine.run('systemctl', 'is-active', unit)
    return output.trim() === 'active' || output.trim() === 'activating'
  }

  /** Returns the number of times that resolv-prepender has found nothing to change. */
  runs(): number {
    const { output } = this.machine.run('journalctl', '--no-pager', '-u', 'on-prem-resolv-prepender')
    return output.split('nothing changed').length - 1
  }

  path(...parts: string[]): string {
    return join(this.machine.root, ...parts)
  }

  text(path: string): string {
    try {
      return readFileSync(this.path(path), 'utf8')
    } catch {
      return ''
    }
  }

  /** Waits for a fact, and shows what the journal of the machine has if it does not come true. */
  async until(what: string, fact: () => boolean, within = 60_000): Promise<void> {
    await eventually(what, fact, { within, every: 100, sight: () => this.report() })
  }

  report(): string {
    const journal =
      'journalctl --no-pager -n 60 -u "on-prem*" -u kubelet -u "nodeip*" -u "coredns*" -u systemd-resolved'
    return this.machine.run(
      'sh',
      '-c',
      `${journal}; systemctl --no-pager list-jobs; ip address; tail -n 20 /etc/resolv.conf /run/NetworkManager/*resolv.conf /run/resolv-prepender/*`,
    ).output
  }

  destroy(): void {
    this.machine.destroy()
  }
}
