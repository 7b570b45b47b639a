import { expect, test } from 'vitest'
import type { AddressStep } from '../../../src/daemon/ports.ts'
import { PromoteSecondaries } from '../../../src/linux/promote-secondaries.ts'
import { address } from '../../../src/wire/address.ts'

/** `errno`: the kernel's answer to each request. */
function given(values: Readonly<Record<string, string>>, errno = 0) {
  const problems: string[] = []
  const asked: string[] = []
  const secondaries = new PromoteSecondaries({
    read: (name) => values[name],
    onProblem: (message) => problems.push(message),
    ask: (requests) =>
      requests.map((make) => {
        const bytes = make(1)
        asked.push(`${bytes[20]}=${bytes.at(-4)}`)
        return errno
      }),
  })
  return { problems, secondaries, asked }
}

const step = (action: AddressStep['action'], text: string, prefixLength: number): AddressStep => ({
  action,
  interfaceIndex: 2,
  address: address(text),
  prefixLength,
})
const VIP = step('add', '192.0.2.100', 24)
const eth0 = () => 'eth0'

test('an address with a network sets the value once, and the end of the run restores it', () => {
  const { secondaries, asked } = given({ all: '0', eth0: '0' })
  for (let i = 0; i < 3; i++) secondaries.prepare(VIP, eth0)
  expect(asked).toEqual(['2=1'])
  secondaries.restore()
  expect(asked).toEqual(['2=1', '2=0'])
})

test('the removal of an address that an earlier run left sets the value as well', () => {
  const { secondaries, asked } = given({ all: '0', eth0: '0' })
  secondaries.prepare(step('remove', '192.0.2.100', 24), eth0)
  expect(asked).toEqual(['2=1'])
})

test.each([
  ['a host address', step('add', '192.0.2.100', 32)],
  ['an IPv6 address', step('add', 'fd00::1', 64)],
])('%s leaves the value alone', (_, other) => {
  const { secondaries, asked } = given({ all: '0', eth0: '0' })
  secondaries.prepare(other, eth0)
  expect(asked).toEqual([])
})

test.each([
  ['of the interface', { all: '0', eth0: '1' }],
  ['of all interfaces', { all: '1', eth0: '0' }],
])('a value that was 1 before stays 1 after the run: %s', (_, values) => {
  const { secondaries, asked } = given(values)
  secondaries.prepare(VIP, eth0)
  secondaries.restore()
  expect(asked).toEqual([])
})

test('a value that cannot be read is set and never restored', () => {
  const { secondaries, asked } = given({})
  secondaries.prepare(VIP, eth0)
  secondaries.restore()
  expect(asked).toEqual(['2=1'])
})

test('a value that cannot be set is reported once for each interface', () => {
  const { problems, secondaries } = given({ all: '0', eth0: '0' }, 1)
  for (let i = 0; i < 3; i++) secondaries.prepare(VIP, eth0)
  secondaries.restore()
  expect(problems).toEqual([
    expect.stringMatching(
      /^net\.ipv4\.conf\.eth0\.promote_secondaries is 0 and cannot be set .*192\.0\.2\.100\/24 leaves/,
    ),
  ])
})
