/** With which priority a process runs, as the kernel writes it down and as the daemon tells it. */
import { expect, test } from 'vitest'
import { schedulingHere, schedulingText } from '../../../src/app/machine/scheduling.ts'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { hasOwnFilter, schedulingOf } from '../../../src/linux/process/scheduling.ts'
import { FakeWorld } from '../daemon/fake-world.ts'

const stat = (name: string, priority: number, policy: number) =>
  `7 (${name}) S 1 7 7 0 -1 4194304 100 0 0 0 1 1 0 0 20 0 1 0 100 1000 100 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 ${priority} ${policy} 0 0 0\n`

test('the policy is read behind the name, whatever the name is', () => {
  const paths: string[] = []
  const read = (text: string) => (path: string) => {
    paths.push(path)
    return text
  }
  expect(schedulingOf(7, read(stat('node', 20, 2)))).toEqual({ policy: 'SCHED_RR', priority: 20 })
  expect(schedulingOf(7, read(stat('a) b (c', 0, 0)))).toEqual({ policy: 'SCHED_OTHER', priority: 0 })
  expect(schedulingOf('self', read(stat('node', 0, 42)))).toEqual({ policy: 'policy 42', priority: 0 })
  expect(schedulingOf(7, read(''))).toBeUndefined()
  expect(paths).toEqual(['/proc/7/stat', '/proc/7/stat', '/proc/self/stat', '/proc/7/stat'])
})

test.each([
  ['a filter of the guardian in a container', '2\nSeccomp_filters:\t3', '2\nSeccomp_filters:\t2', true],
  ['the filter of the container alone', '2\nSeccomp_filters:\t1', '2\nSeccomp_filters:\t1', false],
  ['a filter, on a kernel that does not count', '2', '0', true],
  ['none, on a kernel that does not count', '0', '0', false],
  ['not known, on a kernel that does not count, in a container', '2', '2', undefined],
])('the guardian has a seccomp filter of its own: %s', (_, theirs, ours, own) => {
  const read = (path: string) => `Name:\tx\nSeccomp:\t${path === '/proc/7/status' ? theirs : ours}\n`
  expect(hasOwnFilter(7, read)).toBe(own)
  expect(hasOwnFilter(7, () => '')).toBeUndefined()
})

test('this process has one, and no guardian was asked for another', () => {
  expect(schedulingHere(undefined)).toMatchObject({ policy: expect.stringMatching(/^SCHED_/), guardian: null })
})

const ORDINARY = { policy: 'SCHED_OTHER', priority: 0 }
const got = { policy: 'SCHED_RR', priority: 20, realtimeAsked: true, guardian: { policy: 'SCHED_RR', priority: 21 } }

test.each([
  ['both', got, 'info', /^Real-time priority 20 \(SCHED_RR\) .*; guardian: 21$/],
  ['from systemd, unasked', { ...got, realtimeAsked: false }, 'info', /priority 20/],
  ['the engine alone', { ...got, guardian: ORDINARY }, 'warn', /; guardian: none$/],
  [
    'refused',
    { ...got, ...ORDINARY, guardian: ORDINARY },
    'warn',
    /^Real-time priority was requested, .* runs with SCHED_OTHER: CAP_SYS_NICE/,
  ],
  ['no guardian', { ...got, ...ORDINARY, guardian: null }, 'warn', /no guardian could set it/],
])('the log says what was got: %s', (_, scheduling, level, message) => {
  expect(schedulingText(scheduling)).toEqual({ isWhole: level === 'info', message: expect.stringMatching(message) })
})

test('nothing asked, nothing got, nothing said; the status likewise', () => {
  expect(schedulingText({ ...ORDINARY, realtimeAsked: false, guardian: ORDINARY })).toBeUndefined()
  const snapshot = new FakeWorld().start().daemon.snapshot()
  const head = (scheduling: typeof snapshot.scheduling) => formatStatus({ ...snapshot, scheduling }).split('\n')[2]
  expect(head(null)).not.toMatch(/real-time/i)
  expect(head({ ...ORDINARY, realtimeAsked: false, guardian: null })).not.toMatch(/real-time/i)
  expect(head(got)).toMatch(/, real-time priority 20$/)
  expect(head({ ...got, guardian: { ...ORDINARY, confined: false } })).toMatch(/, guardian WITHOUT A SECCOMP FILTER$/)
  expect(head({ ...got, ...ORDINARY })).toMatch(/, WITHOUT THE REQUESTED REAL-TIME PRIORITY$/)
})
