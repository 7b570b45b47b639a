/**
 * A split brain that a third node sees: r1 and r2 do not receive each other, and r3 receives both. The test covers the report of r3 from
 * its own journal alone: journal, log, metric, status and `holdfast explain`. The report is read during the split brain, long after its
 * begin, and after its end. The two routers of a sync group are one story.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { explainCommand } from '../../src/cli/explain/explain.ts'
import { statusCommand } from '../../src/cli/status/status.ts'
import type { EventOf } from '../../src/events/event.ts'
import { readEventPage } from '../../src/events/event-page.ts'
import type { Story } from '../../src/explain/story.ts'
import { ask } from '../../src/files/control-client.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const INTERVAL = 500
const WITHIN = 20_000
const VIP6 = 'fd77::100'
const PRIORITIES = [150, 120, 100]

describeNetns('a third node in a split brain', () => {
  let lab: Lab
  let nodes: readonly Holdfast[]

  const start = (position: number): Holdfast => {
    const host = lab.router(position)
    const priority = PRIORITIES[position - 1] ?? 0
    const common = { vrid: 51, interface: 'eth0', priority, advertisementInterval: `${INTERVAL}ms` }
    const peers = lab.routers.map(({ address }, i) => ({ address, priority: PRIORITIES[i] }))
    const virtualRouters = [
      { name: 'web4', addresses: [LAB_VIP], peers, ...common },
      { name: 'web6', addresses: [VIP6], ...common },
    ]
    const top = { virtualRouters, syncGroups: [{ name: 'web', members: ['web4', 'web6'] }] }
    return new Holdfast(lab, { host, priority, intervalMs: INTERVAL, address: LAB_VIP }, {}, [], top)
  }
  const third = () => nodes[2] ?? start(3)
  const holders = () => lab.holders(LAB_VIP).join()

  async function story(since: string): Promise<Story> {
    const { socket } = third()
    const file = join(socket, '..', 'events.jsonl')
    const options = { router: undefined, since, peers: [], asksPeers: false, json: true }
    const { stdout } = await explainCommand({ ...options, socket, file })
    const told: Story = JSON.parse(stdout)
    return told
  }

  /** Returns the `twoActives` events of the HTTP answer of r3. */
  async function events(): Promise<readonly EventOf<'twoActives'>[]> {
    const { body } = await ask(third().socket, { path: '/v1/events', within: 10_000 })
    const page = readEventPage(JSON.parse(body))
    return (page?.events ?? []).flatMap((event) => (event.kind === 'twoActives' ? [event] : []))
  }

  beforeAll(async () => {
    lab = createLab({ routers: 3 })
    nodes = [1, 2, 3].map(start)
    await eventually('r1 alone to have the address', () => holders() === 'r1', { sight: holders })
    await third().becomes('Backup', WITHIN)
  })
  afterAll(() => lab?.destroy())

  test('explain names both Actives during the split brain, even if it began before --since', async () => {
    lab.isolate([lab.router(1), lab.router(2)])
    await eventually('both to have the address', () => holders() === 'r1,r2', { sight: holders })
    await eventually('r3 to record it for both routers', async () => (await events()).length === 2, { sight: events })
    const [one, other] = [lab.router(1).address, lab.router(2).address]
    const text = `listed peer ${one} and listed peer ${other} are both Active, as`
    const now = (await story('1s')).now.map(({ words }) => words)
    expect(now[0], 'present faults with --since at the present time').toContain(`web4 (${LAB_VIP}): ${text}`)
    const told = (await story('5m')).incidents.filter(({ cause }) => cause === 'twoActives')
    expect(told, 'incidents, one for the two routers of the group').toHaveLength(1)
    expect(told[0]?.headline).toContain(
      `hears 2 routers advertise as Active for web4: listed peer ${one} (priority 150) and listed peer ${other} (priority 120)`,
    )
    const status = await statusCommand(third().socket, { json: false })
    expect(status.stdout).toMatch(/^web4: 2 ROUTERS ADVERTISE AS ACTIVE: /)
    const lines = third().records.filter(({ msg }) => msg.includes('routers advertise as Active'))
    expect(
      lines.map(({ level, msg }) => `${level} ${msg}`).filter((line) => line.includes('web4 ')),
      'one line, for however many advertisements',
    ).toEqual([
      `40 web4 (web): 2 routers advertise as Active: ${one} (priority 150) and ${other} (priority 120); ${other} does not receive, or not accept, the advertisements of ${one}`,
    ])
  })

  test('explain reports the end of the split brain and its duration', async () => {
    await sleep(4 * INTERVAL)
    lab.unite([lab.router(1), lab.router(2)])
    await eventually('r1 alone to have the address', () => holders() === 'r1', { sight: holders })
    await eventually('r3 to record the end for both routers', async () => (await events()).length === 4, {
      sight: events,
    })
    const told = await story('5m')
    expect(told.now).toEqual([])
    const [over] = told.incidents.filter(({ cause }) => cause === 'twoActives')
    expect(over?.headline).toMatch(/; for [\d.]+ s\.$/)
    expect(over?.prevention).toMatch(/check packet filter and switch between the nodes/)
  })
})
