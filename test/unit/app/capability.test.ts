/** Which capability is missing, by name, and what to do about it, out of /proc/self/status. */
import { expect, test } from 'vitest'
import { capabilityProblem, missingCapabilities } from '../../../src/app/machine/capability.ts'

const ALL = '000001ffffffffff'
const BOTH = '0000000000003000'
const NONE = '0000000000000000'
const status = (effective: string, { bounding = ALL, user = 0, noNewPrivs = 0 } = {}) =>
  `Name:\tnode\nUid:\t${user}\t${user}\t${user}\t${user}\nCapPrm:\tffffffffffffffff\nCapEff:\t${effective}\n` +
  `CapBnd:\t${bounding}\nNoNewPrivs:\t${noNewPrivs}\nSeccomp:\t0\n`

test.each([
  ['all', ALL, []],
  ['exactly the two', BOTH, []],
  ['none', NONE, ['CAP_NET_ADMIN', 'CAP_NET_RAW']],
  ['without NET_RAW', '000001ffffffdfff', ['CAP_NET_RAW']],
  ['without NET_ADMIN', '000001ffffffefff', ['CAP_NET_ADMIN']],
])('%s', (_, effective, missing) => {
  expect(missingCapabilities(status(effective))).toEqual(missing)
})

test.each([
  [
    'a bounding set without',
    { bounding: '0000000000002000', user: 990, noNewPrivs: 1 },
    'add CAP_NET_ADMIN to the capabilities of this container',
  ],
  ['another user with no-new-privileges', { user: 990, noNewPrivs: 1 }, 'no-new-privileges (allowPrivilegeEscalation:'],
  ['another user', { user: 990 }, 'give the process these capabilities or run it as root'],
  ['root that gave them away', { user: 0, noNewPrivs: 1 }, 'give the process these capabilities'],
])('says what to do: %s', (_, which, words) => {
  const problem = capabilityProblem(status(NONE, which))
  expect(problem).toContain('Cannot run without CAP_NET_ADMIN and CAP_NET_RAW: ')
  expect(problem).toContain(words)
})

test('what cannot be read is left to the system calls', () => {
  expect(missingCapabilities('')).toEqual([])
  expect(capabilityProblem('')).toBeUndefined()
})
