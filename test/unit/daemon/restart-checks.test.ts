/** Results of health checks that an engine takes from the record of the engine before: how long each of them counts. */
import { expect, test } from 'vitest'
import type { Check } from '../../../src/config/checks.ts'
import { Adoption } from '../../../src/daemon/guard/adoption.ts'
import { identityText, readRecord, writeRecord } from '../../../src/daemon/guard/restart-record.ts'
import { CheckBoard } from '../../../src/daemon/health/check-board.ts'
import { millis } from '../../../src/wire/units.ts'
import { checkSpec, tcpSpec } from '../../support/check-spec.ts'

const ENDED = 100_000
const IDENTITY = identityText('/etc/holdfast.yaml', 'abc')
const CHECK: Check = { kind: 'probe', spec: checkSpec(tcpSpec(1), { name: 'api', unknownAfter: millis(5_000) }) }
const TEXT = writeRecord({
  ...{ version: '0.1.0', identity: IDENTITY, routers: [] },
  checks: [{ check: 'api', result: 'up', since: 1_000, heardAt: ENDED - 4_000 }],
})

/** Returns the results of health checks that the next engine adopts, after a crash or an upgrade at the time ENDED. */
function adopted(isUpgrade: boolean) {
  const inherited = { text: TEXT, isUpgrade, crashedAt: millis(ENDED), restarts: 1, signal: 9 }
  const port = { inherited } as unknown as ConstructorParameters<typeof Adoption>[0]['port']
  const config = { lease: 'on', onCrash: 'restart' } as ConstructorParameters<typeof Adoption>[0]['config']
  const recorder = { log: () => {} } as unknown as ConstructorParameters<typeof Adoption>[0]['recorder']
  return new Adoption({
    ...{ port, config, recorder, identity: IDENTITY, version: '0.2.0' },
    view: { linkNamed: () => undefined },
  }).checks
}

test.each([
  ['an upgrade', true, ENDED + 1_000],
  ['a crash', false, ENDED + 5_000],
] as const)('after %s, a restored result counts until unknownAfter has passed', (_, isUpgrade, until) => {
  const board = new CheckBoard()
  board.set([CHECK], millis(ENDED + 200))
  board.restore(adopted(isUpgrade), millis(ENDED + 200))
  expect(board.of('api')).toMatchObject({ result: 'up', since: 1_000 })
  expect(board.doubtAt).toBe(until)
})

test('a record of another form is no record', () => {
  expect(readRecord(TEXT)?.version).toBe('0.1.0')
  expect(readRecord(TEXT.replace('"format":1', '"format":2'))).toBeUndefined()
  expect(readRecord(TEXT.replace('"format":1,', ''))).toBeUndefined()
})
