/** The backends of haproxy.cfg from the nodes that the agent has stored. HAProxy does not run here. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { monitorOrder } from '../../../src/cli/monitor/monitor-flags.ts'
import type { PeerNode } from '../../../src/cluster/decisions/engine/peers.ts'
import { AgentFile } from '../../../src/cluster/runtime/agent-file.ts'
import { BackendDuty, type BackendDutyPorts } from '../../../src/cluster/runtime/haproxy/backend-duty.ts'
import { MonitorAccount } from '../../../src/cluster/runtime/haproxy/monitor-account.ts'
import { address } from '../../../src/wire/address.ts'
import { machine } from '../../support/cluster-plays.ts'
import { nodeObject } from '../../support/kube-api/node-object.ts'

const peer = (name: string, at: string): PeerNode => ({ name, controlPlane: true, addresses: { ipv4: address(at) } })

/** Starts the duty of a monitor in a folder of the test. */
function dutyOf(ports: Partial<BackendDutyPorts>) {
  const folder = mkdtempSync(join(tmpdir(), 'hf-backends-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [template, file] = [join(folder, 'template'), join(folder, 'haproxy.cfg')]
  writeFileSync(template, '')
  const order = monitorOrder(['/kubeconfig', template, file, '--api-vips=10.0.0.5', '--haproxy=/nowhere/haproxy'])
  if (order.do !== 'run') throw new Error(JSON.stringify(order))
  const log: string[] = []
  const duty = new BackendDuty(order.settings, {
    ...{ machine: () => 'not read', persist: () => {}, reload: () => {}, now: () => 0, account: new MonitorAccount() },
    remembered: [peer('old', '10.0.0.99')],
    render: (_, values) => JSON.stringify(values),
    log: ({ code }, message) => log.push(`${code}: ${message}`),
    ...ports,
  })
  const compare = async () => {
    for (const _ of [1, 2, 3, 4]) await duty.compare()
  }
  return { compare, duty, file, log }
}

test('without a usable file of the agent, haproxy.cfg stays, also if the monitor has stored nodes itself', async () => {
  let stored: readonly PeerNode[] | string | undefined
  const { compare, file, log } = dutyOf({ ofAgent: () => stored })
  const keeps = 'HAProxy keeps its configuration'
  await compare()
  stored = 'Cannot use peers.json'
  await compare()
  expect(existsSync(file)).toBe(false)
  expect(log).toEqual([
    `backendsUnknown: the agent has stored no nodes yet; ${keeps}`,
    `backendsUnknown: Cannot use peers.json; ${keeps}`,
  ])
  stored = [peer('m0', '10.0.0.11')]
  await compare()
  expect(readFileSync(file, 'utf8')).toContain('10.0.0.11')
})

test('a monitor whose agent has stored no nodes for 30 s watches the nodes itself, until the agent has stored some', async () => {
  let [at, stored]: [number, readonly PeerNode[] | undefined] = [0, undefined]
  const watches: AbortSignal[] = []
  const agentFile = new AgentFile<readonly PeerNode[]>({
    ...{ read: () => stored, now: () => at },
    watch: (signal) => watches.push(signal),
  })
  const { compare, duty, file } = dutyOf({ machine: () => machine(['10.0.0.12/24']), ofAgent: () => agentFile.look() })
  await compare()
  at = 29_999
  await compare()
  expect(watches).toEqual([])
  at = 30_000
  await compare()
  expect(watches.map(({ aborted }) => aborted)).toEqual([false])
  duty.take({ kind: 'nodesListed', nodes: [nodeObject({ name: 'm1', addresses: ['10.0.0.12'], roles: ['master'] })] })
  await compare()
  expect(readFileSync(file, 'utf8')).toContain('10.0.0.12')
  stored = [peer('m0', '10.0.0.11')]
  await compare()
  expect(readFileSync(file, 'utf8')).toMatch(/^(?!.*10\.0\.0\.12).*10\.0\.0\.11/)
  expect(watches.map(({ aborted }) => aborted)).toEqual([true])
})
