/** The text of the messages to a service manager. test/netns/service-manager.test.ts tests the messages of a real daemon. */
import { expect, test } from 'vitest'
import { routersText, ServiceManager } from '../../../src/app/service-manager.ts'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import type { RouterSummary } from '../../../src/daemon/telemetry/snapshot.ts'
import { eventually } from '../../../src/lab/wait.ts'

const summary = (name: string, state: RouterSummary['state'], more: Partial<RouterSummary> = {}): RouterSummary => ({
  ...{ name, state, faults: [], addresses: ['10.0.0.200'], follows: null },
  ...more,
})

test.each([
  [[], 'No virtual router'],
  [[summary('api', 'Active')], 'api is Active with 10.0.0.200'],
  [
    [summary('api', 'Active', { addresses: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] }), summary('web', 'Backup')],
    'api is Active with 10.0.0.1 and 2 more; web is Backup',
  ],
  [[summary('api', 'Backup', { follows: '10.0.0.12' })], 'api is Backup of 10.0.0.12'],
  [[summary('api', 'Initialize', { faults: ['linkDown'] })], 'api is in fault (linkDown)'],
  [[summary('api', 'Initialize'), summary('web', 'Leaving')], 'api waits; web is Leaving'],
  [
    [...['a', 'b', 'c'].map((name) => summary(name, 'Active')), summary('d', 'Initialize'), summary('e', 'Backup')],
    '5 virtual routers: 3 Active, 1 in fault, 1 Backup: d',
  ],
])('%#: who holds what', (routerSummaries, words) => expect(routersText(routerSummaries)).toBe(words))

function manager(routerSummaries: readonly RouterSummary[] = [summary('api', 'Active')]) {
  const told: string[] = []
  const chronicle = new Chronicle()
  const made = new ServiceManager({
    tell: (words) => void told.push(words),
    routerSummaries: () => routerSummaries,
    subscribe: (listener) => chronicle.subscribe(listener),
  })
  return { made, told, chronicle }
}

test('a status message is one line of bounded length, whatever characters it contains', () => {
  const { made, told } = manager([summary('x', 'Initialize', { faults: [`one\nREADY=1 ${'y'.repeat(400)}`] })])
  made.leaving()
  expect(told[0]?.split('\n')).toEqual([
    'STOPPING=1',
    expect.stringMatching(/^STATUS=Leaving\. x is in fault \(one READY=1 y+…$/),
  ])
  expect(told[0]?.length).toBeLessThan(330)
})

test('a reload during another reload is announced, and READY comes once, after both', async () => {
  const { made, told } = manager()
  let end: (answer: { ok: boolean; reason?: string }) => void = () => {}
  const both = new Promise<{ ok: boolean; reason?: string }>((resolve) => {
    end = resolve
  })
  const reloads = [made.reloading(() => both), made.reloading(() => both)]
  expect(told.map((words) => words.split('\n')[0])).toEqual(['RELOADING=1', 'RELOADING=1'])
  end({ ok: false, reason: 'one problem' })
  await Promise.all(reloads)
  expect(told.slice(2)).toEqual(['READY=1\nSTATUS=api is Active with 10.0.0.200. Reload failed: one problem'])
  await made.reloading(async () => ({ ok: true }))
  expect(told.at(-1), 'last message after both reloads').toBe('READY=1\nSTATUS=api is Active with 10.0.0.200')
})

test('many changes of state in one turn cause one status message', async () => {
  const { told, chronicle } = manager()
  const change = () => chronicle.record({ kind: 'faultChanged', router: 'api', fault: 'linkDown', present: true })
  for (let i = 0; i < 20; i++) change()
  await eventually('the first line', () => told.length === 1, { sight: () => told, within: 5_000 })
  change()
  change()
  await eventually('the second', () => told.length === 2, { sight: () => told, within: 5_000 })
})
