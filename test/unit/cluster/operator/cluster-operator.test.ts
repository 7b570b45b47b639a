/** The conditions of ClusterOperator that need more than one moment, and what is read back from the API. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  changesOf,
  DEPLOY_WITHIN,
  NO_OPERATOR,
  operatorFindings,
  operatorStatus,
  readOperator,
} from '../../../../src/cluster/decisions/operator/cluster-operator.ts'
import { readClusterPlan } from '../../../../src/cluster/decisions/operator/cluster-plan.ts'
import { conditionEvent } from '../../../../src/cluster/decisions/operator/operator-event.ts'
import type { Circumstances } from '../../../../src/cluster/decisions/status/finding.ts'
import { readPublished } from '../../../../src/cluster/decisions/status/published-status.ts'
import { OPERATOR_METRICS } from '../../../../src/cluster/runtime/operator/operator-account.ts'

const plan = readClusterPlan({
  status: { platformStatus: { type: 'BareMetal', baremetal: { apiServerInternalIPs: ['10.0.0.5'] } } },
})
if (plan === undefined) throw new Error('The plan cannot be read')
const circumstances: Circumstances = {
  probe: { result: 'answers' },
  ...{ ingressDisabled: false, progressing: undefined, refused: [], notManaged: undefined },
}
const quiet = { plan, circumstances, troubles: [], crashing: [], waitsFor: [] }
const IDENTITY = { namespace: 'ns', version: '2' }
const AT = Date.parse('2026-11-22T12:00:00Z')
const line = (type: string, findings: ReturnType<typeof operatorFindings>) => {
  const found = findings.find((one) => one.type === type)
  return `${found?.status} ${found?.reason}`
}

test('an installation that is incomplete for ten minutes has timed out, also after a restart of the operator', () => {
  const view = { ...quiet, published: readPublished({ metadata: {} }) }
  const first = operatorFindings(view, NO_OPERATOR, AT)
  expect([line('Progressing', first), line('Degraded', first)]).toEqual(['True SyncingResources', 'False AsExpected'])
  // A new operator knows only what the API shows.
  const known = readOperator({ status: operatorStatus(first, NO_OPERATOR, IDENTITY, AT) })
  expect(line('Degraded', operatorFindings(view, known, AT + DEPLOY_WITHIN - 1))).toBe('False AsExpected')
  expect(line('Degraded', operatorFindings(view, known, AT + DEPLOY_WITHIN))).toBe('True DeployTimedOut')
  const held = { address: '10.0.0.5', service: 'API', node: 'n1', since: '', saidBy: 'n1' }
  const complete = { ...quiet, published: readPublished({ metadata: {}, status: { holders: [held] } }) }
  expect(line('Degraded', operatorFindings(complete, known, AT + DEPLOY_WITHIN))).toBe('False AsExpected')
})

test('the ten minutes begin with the reason SyncingResources, not with a switch of the load balancer before', () => {
  const held = { address: '10.0.0.5', service: 'API', node: 'n1', since: '', saidBy: 'n1' }
  const published = readPublished({ metadata: {}, status: { holders: [held] } })
  const switching = { ...quiet, published, circumstances: { ...circumstances, progressing: 'a switch' } }
  const read = (findings: ReturnType<typeof operatorFindings>, known: typeof NO_OPERATOR, epochMs: number) =>
    readOperator({ status: operatorStatus(findings, known, IDENTITY, epochMs) })
  const first = read(operatorFindings(switching, NO_OPERATOR, AT), NO_OPERATOR, AT)
  const later = AT + 2 * DEPLOY_WITHIN
  const waiting = { ...switching, published: readPublished({ metadata: {} }) }
  const second = read(operatorFindings(waiting, first, later), first, later)
  expect(line('Degraded', operatorFindings(waiting, second, later + 1_000))).toBe('False AsExpected')
  expect(line('Degraded', operatorFindings(waiting, second, later + DEPLOY_WITHIN))).toBe('True DeployTimedOut')
})

test('during a switch the operator is not Upgradeable, and the version before stays', () => {
  const view = { ...quiet, published: undefined, circumstances: { ...circumstances, progressing: 'a switch' } }
  const findings = operatorFindings(view, NO_OPERATOR, AT)
  expect(line('Upgradeable', findings)).toBe('False LoadBalancerSwitch')
  const known = { conditions: [], version: '1' }
  expect(operatorStatus(findings, known, IDENTITY, AT).versions).toEqual([{ name: 'operator', version: '1' }])
})

test.each([undefined, {}, { status: 1 }, { status: { conditions: [{ type: 'Odd' }, 1], versions: 'x' } }])(
  'an object %j is read without a condition',
  (object) => {
    expect(readOperator(object)).toEqual(NO_OPERATOR)
  },
)

test('an Event is made for a changed status only, and is a Warning if the change is bad', () => {
  const condition = { type: 'Degraded', status: 'True', reason: 'NobodyHolds', message: 'm' } as const
  const known = { version: undefined, conditions: [{ ...condition, lastTransitionTime: '2026-11-22T12:00:00Z' }] }
  expect(changesOf([condition], NO_OPERATOR)).toEqual([])
  expect(changesOf([{ ...condition, reason: 'SeveralHolders' }], known)).toEqual([])
  expect(changesOf([{ ...condition, status: 'False' }], known)).toHaveLength(1)
  const types = (['Degraded', 'Available', 'Progressing'] as const).map((type) =>
    (['True', 'False'] as const).map((status) => conditionEvent({ ...condition, type, status }).type),
  )
  expect(types).toEqual([
    ['Warning', 'Normal'],
    ['Normal', 'Warning'],
    ['Normal', 'Normal'],
  ])
})

test('docs/operator.md has each metric of the operator, and no other', () => {
  const document = readFileSync(join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'operator.md'), 'utf8')
  const written = [...document.matchAll(/^\| `(holdfast_operator_\w+)(?:\{(\w+)\})?` \|/gm)].map(([, name, label]) => [
    name,
    label,
  ])
  expect(written).toEqual(
    Object.entries(OPERATOR_METRICS).map(([name, metric]) => [name, 'label' in metric ? metric.label : undefined]),
  )
})
