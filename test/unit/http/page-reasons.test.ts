/** The page's texts of reasons are those of the daemon. `make docs` writes them. */
import { expect, test } from 'vitest'
import { probeReasonText, RESULTS } from '../../../src/events/check-reason-text.ts'
import type { Reason } from '../../../src/healthcheck/probe-result.ts'
import { reasonWords, resultWords } from '../../../src/http/page/words.js'
import { NAMED_FAULTS, REASONS, reasonText } from '../../../src/vrrp/reason-text.ts'
import { expectDocument } from '../../support/generated-document.ts'

const lines = (table: Readonly<Record<string, string>>) =>
  Object.entries(table)
    .map(([code, text]) => `  ${code}: '${text}',\n`)
    .join('')

test('src/http/page/reasons.js is made from the texts of the daemon', () => {
  expectDocument(
    '../src/http/page/reasons.js',
    `/** Texts of reasons and faults, made from src/vrrp/reason-text.ts and src/events/check-reason-text.ts by \`make docs\`: change them there. */

/** @type {Readonly<Record<string, string>>} */
export const REASONS = {
${lines(REASONS)}}

/** Faults with a name, which replaces NAME. @type {Readonly<Record<string, string>>} */
export const NAMED_FAULTS = {
${lines(NAMED_FAULTS)}}

/** Texts of the results of health checks. @type {Readonly<Record<string, string>>} */
export const RESULTS = {
${lines(RESULTS)}}
`,
  )
})

test.each([
  ['activeSilent', 'no other router was heard'],
  ['healthcheckDown:web', 'the health check web is down'],
  ['trackedInterfaceDown:a:$&', 'the interface a:$&, which it tracks, is down'],
  ['ofLaterVersion', 'ofLaterVersion'],
  ['ofLaterVersion:web', 'ofLaterVersion:web'],
  ['toString', 'toString'],
])('log and page have the same text for %s', (code, text) => {
  expect([reasonText(code), reasonWords(code)]).toEqual([text, text])
})

/** The compiler refuses this line if a reason has no text. */
const TEXTS: Readonly<Record<Reason, string>> = RESULTS

test.each([...Object.entries(TEXTS), ['ofLaterVersion', 'ofLaterVersion'], ['toString', 'toString']])(
  'status and page have the same text for the result %s',
  (code, text) => {
    expect([probeReasonText(code), resultWords(code)]).toEqual([text, text])
  },
)
