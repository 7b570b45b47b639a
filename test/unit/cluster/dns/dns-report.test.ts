/** The report of corednsmonitor to the agent: what is written is read, and an old or wrong text counts as no report. */
import { expect, test } from 'vitest'
import { reportIn, reportText } from '../../../../src/cluster/decisions/dns/dns-report.ts'
import { address } from '../../../../src/wire/address.ts'

const REPORT = { wishes: { apps: false, nodes: true, apiInt: address('10.0.0.9') }, kept: 'a reason' }
const EVERY = 30_000

test.each([
  REPORT,
  { wishes: undefined, kept: undefined },
  { ...REPORT, wishes: { ...REPORT.wishes, apiInt: undefined } },
])('a report is read as it was written: %j', (report) => expect(reportIn(reportText(report, EVERY), 0)).toEqual(report))

test.each([
  ['three intervals and ten seconds old', reportText(REPORT, EVERY), 100_000, true],
  ['older', reportText(REPORT, EVERY), 100_001, false],
  ['cut off', reportText(REPORT, EVERY).slice(0, 20), 0, false],
  ['without an interval', '{}', 0, false],
  ['empty', '', 0, false],
] as const)('a report that is %s', (_, text, age, isBelieved) => {
  expect(reportIn(text, age) !== undefined).toBe(isBelieved)
})
