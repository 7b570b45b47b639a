/**
 * The units of systemd for HAProxy and its monitor under a real systemd, with a real HAProxy and real rules. Each unit is killed and
 * restarted. The API server is a stand-in, and the monitor uses the nodes of an earlier run, because there is no API of the cluster.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { eventually } from '../../src/lab/wait.ts'
import { describeBalancer } from '../support/require.ts'
import { SystemdLab } from '../support/systemd-lab.ts'

const PARTS = ['bin', 'dist/bundle', 'native/prebuilds', 'node_modules/node-gyp-build', 'package.json']
const UNITS = ['holdfast-haproxy', 'holdfast-monitor']
/** Address of the API in the shipped unit. */
const VIP = '192.168.111.5'
const NODE = '192.168.111.10'
const PEERS = { version: 1, peers: [{ name: 'n1', controlPlane: true, addresses: { ipv4: NODE } }] }
const WITHIN = { within: 60_000, every: 250 }

let machine: SystemdLab
afterEach(() => machine.destroy())

/** Installs the units as docs/load-balancer.md says, and starts the stand-in of the API server. */
function install(): void {
  const path = (...parts: readonly string[]) => join(machine.root, ...parts)
  for (const part of PARTS) {
    mkdirSync(path('opt/holdfast', part, '..'), { recursive: true })
    cpSync(join(packageRoot(), part), path('opt/holdfast', part), { recursive: true })
  }
  for (const folder of ['etc/holdfast', 'etc/haproxy', 'etc/api', 'var/lib/holdfast-monitor'])
    mkdirSync(path(folder), { recursive: true })
  const deploy = join(packageRoot(), 'deploy')
  cpSync(join(deploy, 'haproxy', 'haproxy.cfg.tmpl'), path('etc/holdfast/haproxy.cfg.tmpl'))
  // The package of HAProxy has a file of its own there.
  machine.output('rm', '-f', '/etc/haproxy/haproxy.cfg')
  for (const unit of UNITS)
    cpSync(join(deploy, 'systemd', `${unit}.service`), path('etc/systemd/system', `${unit}.service`))
  writeFileSync(path('var/lib/holdfast-monitor/peers.json'), JSON.stringify(PEERS))
  cpSync(join(packageRoot(), 'test/support/api-server.mjs'), path('opt/api-server.mjs'))
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=api', '-days', '2']
  const files = ['-keyout', path('etc/api/key.pem'), '-out', path('etc/api/cert.pem')]
  execFileSync('openssl', ['req', '-x509', ...key, ...files], { stdio: 'pipe' })
  for (const line of [
    'link set lo up',
    'link add eth0 type veth peer name far',
    `address add ${NODE}/24 dev eth0`,
    'link set eth0 up',
    'link set far up',
    `address add ${VIP}/32 dev eth0`,
  ])
    machine.output('ip', ...line.split(' '))
  machine.output('systemctl', 'daemon-reload')
  machine.output('systemd-run', '--unit=api', process.execPath, '/opt/api-server.mjs', '/etc/api', '6443', 'n1')
}

const property = (unit: string, name: string) =>
  machine.output('systemctl', 'show', '--value', `--property=${name}`, unit)
const rules = () => machine.run('nft', 'list', 'table', 'ip', 'ocp_nat').output
const areThere = () => rules().includes('OCP_API_LB_REDIRECT')
const sight = () => ({
  units: machine.run('systemctl', 'status', '--no-pager', ...UNITS).output.slice(-3_000),
  rules: rules(),
})
const until = (what: string, is: () => boolean) => eventually(what, is, { sight, ...WITHIN })

describeBalancer('the units of HAProxy and its monitor', () => {
  test('systemd starts both again when they are killed, a restart of HAProxy loses no request, and a stop removes the rules', {
    timeout: 300_000,
  }, async () => {
    machine = await SystemdLab.booted()
    install()
    machine.output('systemctl', 'start', '--no-block', ...UNITS)
    await until('the rules', areThere)
    const ask = () => machine.run('curl', '-sS', '--max-time', '5', `http://${VIP}:6443/`).output
    expect(ask()).toBe('n1')

    for (const unit of UNITS) {
      machine.output('systemctl', 'kill', '--signal=KILL', unit)
      await until(`${unit} to run again, and the rules`, () => property(unit, 'NRestarts') === '1' && areThere())
      expect(ask()).toBe('n1')
    }

    const before = property('holdfast-haproxy', 'MainPID')
    machine.output('systemctl', 'reload', 'holdfast-haproxy')
    await until(
      'HAProxy to have reloaded',
      () => machine.run('pgrep', '-fc', 'haproxy -sf').output.trim() !== '0' && areThere(),
    )
    expect(property('holdfast-haproxy', 'MainPID')).toBe(before)

    const loop = `lost=0; asked=0; while [ ! -e /run/enough ]; do curl -sS -m 5 http://${VIP}:6443/ >/dev/null 2>&1 || lost=$((lost+1)); asked=$((asked+1)); done; echo "$lost $asked" >/run/asked`
    machine.output('systemd-run', '--unit=client', 'sh', '-c', loop)
    machine.output('systemctl', 'restart', 'holdfast-haproxy')
    await until('the rules after the restart', areThere)
    machine.output('touch', '/run/enough')
    await until('the client to end', () => machine.run('test', '-s', '/run/asked').status === 0)
    const [lost, asked] = machine.output('cat', '/run/asked').split(' ').map(Number)
    expect(asked).toBeGreaterThan(5)
    expect(lost, `lost requests of ${asked}`).toBe(0)

    machine.output('systemctl', 'stop', ...UNITS)
    expect(areThere()).toBe(false)
    expect(ask(), 'the API server of the node').toBe('n1')
    for (const unit of UNITS) expect(property(unit, 'Result')).toBe('success')
  })
})
