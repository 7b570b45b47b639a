/** `holdfast runtimecfg` under its own name, in a network namespace: templates are executed with the facts of the node. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { ip } from '../../src/lab/ip.ts'
import { describeNetns } from '../support/require.ts'

const TEMPLATE = `{{ .Cluster.Name }}.{{ .Cluster.Domain }} on {{ .ShortHostname }}
{{- range $i, $config := .Configs }}
{{ $i }} {{ .VRRPInterface }} {{ .NonVirtualIP }} {{ .Cluster.APIVIP }}/{{ .Cluster.VIPNetmask }} {{ .Cluster.APIVIPRecordType }}
{{- end }}
{{ .Cluster.APIVirtualRouterID }} {{ .Cluster.IngressVirtualRouterID }} {{ .EnableUnicast }}
forward .{{ range .DNSUpstreams }} {{ . }}{{ end }}
{{ .LBConfig.LbPort }} {{ len .LBConfig.Backends }} {{ "{{ .Name }}" }}
`
const VIPS = ['--api-vips', '10.0.0.100,fd00::100', '--ingress-vips', '10.0.0.101,fd00::101']

describeNetns('holdfast in the place of runtimecfg', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-runtimecfg-'))
  const at = (...path: string[]) => join(folder, ...path)
  let namespace = ''

  beforeAll(() => {
    namespace = makeNamespace()
    ip(namespace, 'link add eth0 type veth peer name far', 'link set far up', 'link set eth0 up')
    ip(namespace, 'address add 10.0.0.5/24 dev eth0')
    ip(namespace, 'address add fd00::5/64 dev eth0 nodad')
    symlinkSync(join(packageRoot(), 'bin', 'holdfast'), at('runtimecfg'))
    const cluster = { name: 'c', cluster: { server: 'https://api-int.ostest.test.metalkube.org:6443' } }
    const context = { name: 'c', context: { cluster: 'c', user: 'u' } }
    const kubeconfig = {
      clusters: [cluster],
      contexts: [context],
      'current-context': 'c',
      users: [{ name: 'u', user: {} }],
    }
    writeFileSync(at('kubeconfig'), JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...kubeconfig }))
    writeFileSync(
      at('resolv.conf'),
      'search x\nnameserver 10.0.0.5\nnameserver 10.9.9.9\nnameserver 127.0.0.1\nnameserver 10.9.9.8\n',
    )
    writeFileSync(at('hostname'), 'master-0.test.metalkube.org\n')
    mkdirSync(at('templates'))
    writeFileSync(at('templates/facts.conf.tmpl'), TEMPLATE, { mode: 0o755 })
    writeFileSync(at('templates/README'), '{{ no template }}')
  })
  afterAll(() => {
    removeAll()
    rmSync(folder, { recursive: true, force: true })
  })

  function runtimecfg(...argv: readonly string[]) {
    const env = { ...process.env, ENABLE_UNICAST: 'yes', RUNTIMECFG_HOSTNAME_PATH: at('hostname') }
    const { status, stdout, stderr } = spawnSync('ip', ['netns', 'exec', namespace, at('runtimecfg'), ...argv], {
      ...{ encoding: 'utf8', env, timeout: 60_000 },
    })
    return { status, stdout, stderr }
  }
  const render = (template: string, ...more: readonly string[]) =>
    runtimecfg('render', at('kubeconfig'), template, '-o', at('out'), '-r', at('resolv.conf'), ...VIPS, ...more)

  test('render executes the templates of a folder with the facts of this node, and keeps their permissions', () => {
    expect(render(at('templates'))).toEqual({ status: 0, stdout: `wrote ${at('out/facts.conf')}\n`, stderr: '' })
    expect(readFileSync(at('out/facts.conf'), 'utf8').split('\n')).toEqual([
      'ostest.test.metalkube.org on master-0',
      '0 eth0 10.0.0.5 10.0.0.100/32 A',
      '1 eth0 fd00::5 fd00::100/128 AAAA',
      `${runtimecfg('vr-ids', 'ostest').stdout.match(/\d+/g)?.join(' ')} true`,
      'forward . 10.9.9.9 10.9.9.8',
      '9445 0 {{ .Name }}',
      '',
    ])
    expect((statSync(at('out/facts.conf')).mode & 0o777).toString(8)).toBe('755')
    expect(existsSync(at('out/README'))).toBe(false)
  })

  test('a template that cannot be executed is reported with line and column, and its last result stays', () => {
    mkdirSync(at('broken'))
    mkdirSync(at('out'), { recursive: true })
    writeFileSync(at('broken/a.conf.tmpl'), 'x\n  {{ lookup .Cluster }}\n')
    writeFileSync(at('broken/b.conf.tmpl'), 'fine\n')
    writeFileSync(at('out/a.conf'), 'last\n')
    const { status, stdout, stderr } = render(at('broken'))
    expect(stderr).toMatch(/^holdfast: .*\/a\.conf\.tmpl: line 2, column 6: cannot use function lookup, expected and, /)
    expect([status, stdout]).toEqual([1, `wrote ${at('out/b.conf')}\n`])
    expect(readFileSync(at('out/a.conf'), 'utf8')).toBe('last\n')
  })

  test('an unknown fact and a wrong value are reported, and nothing is written', () => {
    writeFileSync(at('own.conf'), 'nameserver 10.0.0.5\n')
    const alone = render(at('templates'), '-r', at('own.conf'), '-o', at('none'))
    expect(alone).toMatchObject({ status: 1, stdout: '' })
    expect(alone.stderr).toBe(`holdfast: Cannot find a DNS server in ${at('own.conf')} except this node itself\n`)
    const wrong = render(at('resolv.conf'), '-o', at('none'))
    expect(wrong).toMatchObject({ status: 1, stdout: '' })
    expect(wrong.stderr).toContain('resolv.conf", expected a file whose name ends in .tmpl')
    expect(render(at('templates'), '--api-port', '0', '--cloud-int-lb-ips=1.2.3.4')).toMatchObject({
      ...{ status: 64, stdout: '' },
      stderr: [
        'holdfast: --cloud-int-lb-ips: cannot use "1.2.3.4", expected no address without --platform AWS, Azure, GCP\n',
        'holdfast: --api-port: cannot use "0", expected an integer from 1 to 65535\n',
      ].join(''),
    })
    expect(readFileSync(at('own.conf'), 'utf8')).toBe('nameserver 10.0.0.5\n')
  })

  test('vr-ids and node-ip are the commands of holdfast, and another command is refused', () => {
    expect(runtimecfg('vr-ids', 'ostest').stdout).toMatch(/^APIVirtualRouterID: \d+\nIngressVirtualRouterID: \d+\n$/)
    expect(runtimecfg('node-ip', 'show', '10.0.0.100')).toEqual({ status: 0, stdout: '10.0.0.5\n', stderr: '' })
    expect(runtimecfg('show')).toEqual({
      ...{ status: 64, stdout: '' },
      stderr: 'holdfast: COMMAND: cannot use "show", expected render, display, vr-ids or node-ip\n',
    })
  })

  test('display prints the data of the templates, and refuses an argument too many', () => {
    const { status, stdout, stderr } = runtimecfg('display', at('kubeconfig'), '-r', at('resolv.conf'), ...VIPS)
    expect([status, stderr]).toEqual([0, ''])
    const shown = JSON.parse(stdout)
    expect(shown).toMatchObject({
      ...{ NonVirtualIP: '10.0.0.5', VRRPInterface: 'eth0', ShortHostname: 'master-0', EnableUnicast: true },
      Cluster: { Name: 'ostest', Domain: 'test.metalkube.org', APIVIP: '10.0.0.100', VIPNetmask: 32, APILBIPs: [] },
      Configs: [{ NonVirtualIP: '10.0.0.5' }, { NonVirtualIP: 'fd00::5' }],
    })
    expect(runtimecfg('display', at('kubeconfig'), at('templates'), ...VIPS).stderr).toContain(
      'expected at most KUBECONFIG',
    )
  })

  test('on the platform of a cloud, the load balancers take the place of the VIPs', () => {
    const cloud = (...argv: readonly string[]) =>
      runtimecfg('display', at('kubeconfig'), '-r', at('resolv.conf'), '--platform=AWS', ...argv)
    const { status, stdout, stderr } = cloud(
      ...['--cloud-ext-lb-ips', '', '--cloud-int-lb-ips', '192.0.2.1,192.0.2.2', '--cloud-ingress-lb-ips=192.0.2.9'],
    )
    expect([status, stderr]).toEqual([0, ''])
    const [first, second] = JSON.parse(stdout).Configs
    expect(first).toMatchObject({
      Cluster: {
        ...{ APILBIPs: [], APIIntLBIPs: ['192.0.2.1'], IngressLBIPs: ['192.0.2.9'], VIPNetmask: 0, APIVIP: '' },
        ...{ CloudLBRecordType: 'A', CloudLBEmptyType: 'AAAA', PlatformType: 'AWS' },
      },
      ...{ NonVirtualIP: '', VRRPInterface: '', EnableUnicast: false },
      LBConfig: { ApiPort: 0, LbPort: 0, StatPort: 0 },
      // The node has no address of a VIP's LAN, so the own address stays a server, as for runtimecfg.
      DNSUpstreams: ['10.0.0.5', '10.9.9.9', '10.9.9.8'],
    })
    expect(second.Cluster).toMatchObject({ APIIntLBIPs: ['192.0.2.2'], IngressLBIPs: [] })
    expect(cloud()).toMatchObject({ status: 64, stderr: expect.stringContaining('because the platform is AWS') })
    expect(cloud('--cloud-int-lb-ips=lb.example').stderr).toContain('expected IP addresses, separated by commas')
  })
})
