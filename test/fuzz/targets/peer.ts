/**
 * JSON of other programs: another node's status and events, and the objects of a cluster. An accepted value is
 * accepted again when it is written (a page of events, a status), and every other value gives nothing. No value
 * causes an exception.
 */

import { readIntent } from '../../../src/cluster/decisions/status/intent.ts'
import { readPublished } from '../../../src/cluster/decisions/status/published-status.ts'
import { readEventPage } from '../../../src/events/event-page.ts'
import { readPeerStatus } from '../../../src/http/peers/peer-status.ts'
import { must, octets, same, type Target, textOf } from '../target.ts'

const AT = '2026-11-22T09:00:00.000Z'
const STATUS = {
  ...{ version: 1, pid: 7, hostname: 'r1', startedAt: AT, takenAt: AT, guardian: 'guarded', config: { hash: null } },
  routers: [
    {
      ...{ name: 'api', group: null, vrid: 51, family: 'ipv4', interface: 'eth0', state: 'Active', since: AT },
      ...{ reason: 'masterDown', faults: ['linkDown'], priority: { base: 100, effective: 120 } },
      tracking: { sum: 120, parts: [{ kind: 'healthcheck', name: 'x', adds: 20 }] },
      ...{ yieldingUntil: null, holder: { self: true, address: null, priority: 100, heardMsAgo: 1.5 } },
      ...{ source: '192.0.2.2', addresses: [{ address: '192.0.2.100', present: true }] },
    },
  ],
}
const PAGE = {
  ...{ version: 1, hostname: 'r1', now: { at: AT, monotonicMs: 5.5 }, file: null, oldest: 1, latest: 2 },
  events: [
    { seq: 1, at: AT, monotonicMs: 1, kind: 'guardianLost' },
    { seq: 2, at: AT, monotonicMs: 2, because: 1, kind: 'journalGap', lost: 3, why: 'the disk is full' },
  ],
}
const OBJECT = {
  metadata: { uid: 'u', resourceVersion: '5', generation: 2 },
  spec: {
    ingressHa: 'Disabled',
    dns: { nodesResolution: 'Enabled', appsResolution: 'Enabled', apiintIpAddress: '192.0.2.1' },
  },
  status: {
    ...{ apiServerInternalIpOwner: 'n1', observedGeneration: 1 },
    holders: [{ node: 'n1', address: '192.0.2.100', service: 'API', since: AT, saidBy: 'n1', alsoAnswering: [] }],
    conditions: [{ type: 'Available', status: 'True', reason: 'r', message: 'm', lastTransitionTime: AT }],
  },
}

export const PEER: Target = {
  name: 'peer',
  corpus: () => [STATUS, PAGE, OBJECT].map((value) => octets(JSON.stringify(value))),
  words: [
    ...[STATUS, PAGE, OBJECT].flatMap((value) => JSON.stringify(value).match(/"[^"]*":?/g) ?? []),
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      'null',
      'true',
      '-1',
      '1e400',
      '1e21',
      '-0',
      '""',
      '"__proto__":',
      '"\\ud800"',
      '[]',
      '{}',
      '"1970-01-01T00:00:00Z"',
    ],
  ].map(octets),
  largest: 2_000,
  short: 20_000,
  examine(input) {
    let value: unknown
    try {
      value = JSON.parse(textOf(input))
    } catch {
      return 'no JSON'
    }
    const before = JSON.stringify(value)
    const status = readPeerStatus(value)
    const page = readEventPage(value)
    const intent = readIntent(value)
    const published = readPublished(value)
    must(JSON.stringify(value) === before, 'It has changed what it was given')
    const written = (what: unknown): unknown => JSON.parse(JSON.stringify(what))
    if (status !== undefined)
      must(same(readPeerStatus(written(status)), status), 'The status is another one', () => status)
    if (page !== undefined) must(same(readEventPage(written(page)), page), 'The page is another one', () => page)
    if ('problems' in intent)
      must(intent.problems.length > 0 && intent.problems.every((line) => line !== ''), 'It is refused for nothing')
    else must(same(readIntent({ spec: specOf(intent) }), intent), 'The intent is another one', () => intent)
    return [
      status === undefined ? '' : `status ${Math.min(2, status.routers.length)}`,
      page === undefined ? '' : `page ${Math.min(3, page.events.length)}`,
      'problems' in intent ? intent.problems[0]?.slice(0, 40) : intent.ingressHa,
      published === undefined
        ? ''
        : `published ${Math.min(2, published.holders.length)} ${Math.min(2, published.conditions.length)}`,
    ].join(', ')
  },
}

const specOf = (intent: Exclude<ReturnType<typeof readIntent>, { readonly problems: readonly string[] }>) => {
  const { ingressHa, ...dns } = intent
  return { ingressHa, dns }
}
