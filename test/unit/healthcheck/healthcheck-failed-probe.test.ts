import { expect, test } from 'vitest'
import { asFailedProbe, FailedProbe } from '../../../src/healthcheck/failed-probe.ts'

const error = (code: string) => Object.assign(new Error(`connect ${code}`), { code })

test.each([
  ['ECONNREFUSED', 'connectionRefused', 'fail'],
  ['ECONNRESET', 'connectionReset', 'fail'],
  ['EHOSTUNREACH', 'connectFailed', 'fail'],
  ['ENOENT', 'connectionRefused', 'fail'],
  ['CERT_HAS_EXPIRED', 'certificateRefused', 'fail'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificateRefused', 'fail'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificateRefused', 'fail'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tlsFailed', 'fail'],
  ['HPE_INVALID_CONSTANT', 'badAnswer', 'fail'],
  // What we ran out of, or may not do, is not the target's fault.
  ['EMFILE', 'notPossible', 'unknown'],
  ['EADDRNOTAVAIL', 'notPossible', 'unknown'],
  ['EACCES', 'notPossible', 'unknown'],
])('%s: %s, %s', (code, reason, outcome) => {
  expect(asFailedProbe(error(code))).toMatchObject({ reason, outcome })
})

test('of several addresses the last one decides; what was decided stays', () => {
  const both = new AggregateError([error('EHOSTUNREACH'), error('ECONNREFUSED')])
  expect(asFailedProbe(both).reason).toBe('connectionRefused')
  const decided = new FailedProbe('status', '500')
  expect(asFailedProbe(decided)).toBe(decided)
})
