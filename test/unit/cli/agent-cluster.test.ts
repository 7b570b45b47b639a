import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agentCommand } from '../../../src/cli/agent/agent.ts'
import { firstMode, grouping, localApi, offPremises } from '../../../src/cli/agent/agent-cluster.ts'
import { agentOrder } from '../../../src/cli/agent/agent-flags.ts'
import { sample } from '../../support/keepalived-text.ts'

const VIPS = ['--name=ostest', '--api-vips=192.168.111.5', '--ingress-vips=192.168.111.4']

function settings(...flags: readonly string[]) {
  const order = agentOrder([...VIPS, ...flags], {})
  if (order.do !== 'run') throw new Error(JSON.stringify(order))
  return order.settings
}

/** With an install-config for this platform. */
function clusterConfig(platform: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'hf-platform-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'cluster-config.yaml')
  const installed = `metadata: { name: ostest }\nplatform: { ${platform}: {} }\n`
  writeFileSync(file, JSON.stringify({ data: { 'install-config': installed } }))
  return `--cluster-config=${file}`
}

test.each([
  [[], 'https://localhost:6443'],
  [['--api-port=7443'], 'https://localhost:7443'],
])('the API of this node, which a bootstrap node asks as well, has the port of %j', (flags, url) => {
  expect(localApi(settings(...flags))).toBe(url)
})

describe('a platform whose nodes do not hold the addresses', () => {
  test('nothing said, or one of ours, is none', () => {
    expect(offPremises(settings())).toBeUndefined()
    expect(offPremises(settings('--platform=BareMetal'))).toBeUndefined()
    expect(offPremises(settings(clusterConfig('vsphere')))).toBeUndefined()
    expect(offPremises(settings(clusterConfig('vsphere'), '--platform=VSphere'))).toBeUndefined()
  })

  test('by flag, by the install-config, and when they contradict each other', () => {
    for (const platform of ['None', 'External'])
      expect(offPremises(settings(`--platform=${platform}`)), 'VIPs that were given by hand').toBeUndefined()
    expect(offPremises(settings(clusterConfig('none')))).toBeUndefined()
    expect(offPremises(settings('--platform=AWS'))).toContain('The platform is "AWS"')
    expect(offPremises(settings(clusterConfig('gcp')))).toContain('The platform is "gcp"')
    expect(offPremises(settings(clusterConfig('vsphere'), '--platform=AWS'))).toContain(
      '"vsphere" in the install-config, but "AWS" on the command line',
    )
  })

  test('--print says so, and prints nothing', async () => {
    const printed = await agentCommand([...VIPS, '--print=yaml', '--platform=AWS', '--nodes=/dev/null'])
    expect(printed).toMatchObject({ exitCode: 1, stdout: '' })
    expect(printed.stderr).toContain('Nothing would be handed over')
  })
})

describe('sync groups', () => {
  /** With this text as MCO's template. */
  function groupingWith(text: string, ...flags: readonly string[]) {
    const folder = mkdtempSync(join(tmpdir(), 'hf-template-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'keepalived.conf.tmpl')
    writeFileSync(file, text)
    return grouping(settings('/kubeconfig', file, '/etc/keepalived/keepalived.conf', ...flags))
  }

  test.each([
    ['master-openstack-dualstack', true],
    ['worker-openstack-dualstack', true],
    ['master-dualstack', false],
    ['worker', false],
    ['bootstrap', false],
  ])('the template %s has them: %s, without a note', (name, grouped) => {
    expect(groupingWith(sample(name))).toEqual({ grouped, notes: [] })
  })

  test('a comment in the template is no group', () => {
    expect(groupingWith('# vrrp_sync_group VG_API {\nglobal_defs {\n}\n')).toEqual({ grouped: false, notes: [] })
  })

  test('--platform=OpenStack has them too, and decides alone without a readable template', () => {
    expect(groupingWith(sample('master-dualstack'), '--platform=OpenStack').grouped).toBe(true)
    expect(grouping(settings('--platform=openstack'))).toEqual({ grouped: true, notes: [] })
    expect(grouping(settings())).toEqual({ grouped: false, notes: [] })
    for (const [flags, grouped] of [
      [[], false],
      [['--platform=OpenStack'], true],
    ] as const) {
      const found = grouping(settings('/kubeconfig', '/nowhere/t.tmpl', '/nowhere/k.conf', ...flags))
      expect(found.grouped).toBe(grouped)
      expect(found.notes.join()).toContain('Cannot read the template /nowhere/t.tmpl')
    }
  })
})

describe('the first mode of an engine without a configuration', () => {
  const folder = () => {
    const made = mkdtempSync(join(tmpdir(), 'hf-mode-'))
    onTestFinished(() => rmSync(made, { recursive: true }))
    return made
  }
  const given = (unicast: 'yes' | 'no') => {
    const order = agentOrder(VIPS, { ENABLE_UNICAST: unicast })
    if (order.do !== 'run') throw new Error(JSON.stringify(order))
    return order.settings
  }
  test.each([
    ['master-multicast', 'yes', 'multicast'],
    ['master', 'no', 'unicast'],
  ] as const)('is that of the file of keepalived (%s), before ENABLE_UNICAST=%s', (name, unicast, mode) => {
    const there = folder()
    writeFileSync(join(there, 'keepalived.conf'), sample(name))
    expect(firstMode(given(unicast), 'ostest', there)).toBe(mode)
  })

  test('is that of ENABLE_UNICAST without a file, without an instance, or with another cluster in it', () => {
    const there = folder()
    for (const text of [undefined, '', 'global_defs {\n}\n', sample('legacy-4.5-vsphere-master')]) {
      if (text !== undefined) writeFileSync(join(there, 'keepalived.conf'), text)
      expect(firstMode(given('yes'), 'ostest', there)).toBe('unicast')
      expect(firstMode(given('no'), 'ostest', there)).toBe('multicast')
    }
  })
})
