/** The backends of haproxy.cfg from the nodes that the agent has stored. HAProxy does not run here. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { monitorOrder } from '../../../src/cli/monitor/monitor-flags.ts'
import type { PeerNode } from '../../../src/cluster/decisions/engine/peers.ts'
import { BackendDuty } from '../../../src/cluster/runtime/haproxy/backend-duty.ts'
import { MonitorAccount } from '../../../src/cluster/runtime/haproxy/monitor-account.ts'
import { address } from '../../../src/wire/address.ts'

const peer = (name: string, at: string): PeerNode => ({ name, controlPlane: true, addresses: { ipv4: address(at) } })

test('without a usable file of the agent, haproxy.cfg stays, also if the monitor has stored nodes itself', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hf-backends-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [template, file] = [join(folder, 'template'), join(folder, 'haproxy.cfg')]
  writeFileSync(template, '')
  const order = monitorOrder(['/kubeconfig', template, file, '--api-vips=10.0.0.5', '--haproxy=/nowhere/haproxy'])
  if (order.do !== 'run') throw new Error(JSON.stringify(order))
  let stored: readonly PeerNode[] | string | undefined
  const log: string[] = []
  const duty = new BackendDuty(order.settings, {
    ...{ machine: () => 'not read', persist: () => {}, reload: () => {}, now: () => 0, account: new MonitorAccount() },
    remembered: [peer('old', '10.0.0.99')],
    ofAgent: () => stored,
    render: (_, values) => JSON.stringify(values),
    log: ({ code }, message) => log.push(`${code}: ${message}`),
  })
  const keeps = 'HAProxy keeps its configuration'
  for (const _ of [1, 2, 3, 4]) await duty.compare()
  stored = 'Cannot use peers.json'
  for (const _ of [1, 2, 3, 4]) await duty.compare()
  expect(existsSync(file)).toBe(false)
  expect(log).toEqual([
    `backendsUnknown: the agent has stored no nodes yet; ${keeps}`,
    `backendsUnknown: Cannot use peers.json; ${keeps}`,
  ])
  stored = [peer('m0', '10.0.0.11')]
  await duty.compare()
  expect(readFileSync(file, 'utf8')).toContain('10.0.0.11')
})
