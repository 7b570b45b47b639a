/** Which capability is missing, by name, out of /proc/self/status. */
import { expect, test } from 'vitest'
import { missingCapabilities } from '../../src/cli/capability.ts'

const status = (effective: string) => `Name:\tnode\nCapPrm:\tffffffffffffffff\nCapEff:\t${effective}\nSeccomp:\t0\n`

test.each([
  ['all', '000001ffffffffff', []],
  ['exactly the two', '0000000000003000', []],
  ['none', '0000000000000000', ['CAP_NET_ADMIN', 'CAP_NET_RAW']],
  ['without NET_RAW', '000001ffffffdfff', ['CAP_NET_RAW']],
  ['without NET_ADMIN', '000001ffffffefff', ['CAP_NET_ADMIN']],
])('%s', (_, effective, missing) => {
  expect(missingCapabilities(status(effective))).toEqual(missing)
})

test('what cannot be read is left to the system calls', () => {
  expect(missingCapabilities('')).toEqual([])
})
