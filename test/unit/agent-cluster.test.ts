import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agentCommand } from '../../src/cli/agent.ts'
import { offPremises } from '../../src/cli/agent-cluster.ts'
import { agentOrder } from '../../src/cli/agent-flags.ts'

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

describe('a platform whose nodes do not hold the addresses', () => {
  test('nothing said, or one of ours, is none', () => {
    expect(offPremises(settings())).toBeUndefined()
    expect(offPremises(settings('--platform=BareMetal'))).toBeUndefined()
    expect(offPremises(settings(clusterConfig('vsphere')))).toBeUndefined()
    expect(offPremises(settings(clusterConfig('vsphere'), '--platform=VSphere'))).toBeUndefined()
  })

  test('by flag, by the install-config, and when they contradict each other', () => {
    expect(offPremises(settings('--platform=AWS'))).toContain('The platform is "AWS"')
    expect(offPremises(settings(clusterConfig('gcp')))).toContain('The platform is "gcp"')
    expect(offPremises(settings(clusterConfig('vsphere'), '--platform=AWS'))).toContain('"vsphere", "AWS" was given')
  })

  test('--print says so, and prints nothing', async () => {
    const printed = await agentCommand([...VIPS, '--print=yaml', '--platform=AWS', '--nodes=/dev/null'])
    expect(printed).toMatchObject({ exitCode: 1, stdout: '' })
    expect(printed.stderr).toContain('Nothing would be handed over')
  })
})
