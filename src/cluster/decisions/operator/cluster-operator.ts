/**
 * Makes the ClusterOperator `cluster-hosted-net-services`, by which OpenShift shows the state of this operator. This file
 * decides the conditions and their reasons, when the version is reported, and which objects `oc adm inspect` collects. The
 * holders come from HostedNetServices, where the agents publish them. Pure.
 */
import * as z from 'zod'
import type { Address } from '../../../wire/address.ts'
import type { Service } from '../engine/vrid.ts'
import { type Condition, datedConditions, type Finding } from '../status/condition.ts'
import { type Circumstances, findingsOf, type Holding, SERVICE_NAMES, type Trouble } from '../status/finding.ts'
import { GROUP, KIND, PLURAL, type Published, SINGLETON } from '../status/published-status.ts'
import type { ClusterPlan } from './cluster-plan.ts'

export const OPERATOR_NAME = 'cluster-hosted-net-services'
/** Milliseconds after which a VIP without a published holder is a failure of the installation. */
export const DEPLOY_WITHIN = 600_000

export type OperatorView = {
  readonly plan: ClusterPlan
  /** Status of HostedNetServices; `undefined` while the object does not exist. */
  readonly published: Published | 'unreadable' | undefined
  readonly circumstances: Circumstances
  /** Problems besides those in `circumstances`, such as requests that the API refuses. */
  readonly troubles: readonly Trouble[]
  /** Names of pods of this stack whose container ends again and again. */
  readonly crashing: readonly string[]
  /** Texts about programs of the Machine Config Operator that still run in the place of holdfast's. */
  readonly waitsFor: readonly string[]
  /** Texts about static pods that the nodes do not run yet; empty if the operator places none. */
  readonly rollout?: readonly string[]
}

/** ClusterOperator as the API showed it last. */
export type KnownOperator = { readonly conditions: readonly Condition[]; readonly version: string | undefined }

/** Returns the findings for the conditions. */
export function operatorFindings(view: OperatorView, known: KnownOperator, epochMs: number): readonly Finding[] {
  const { circumstances, plan } = view
  if (plan.elsewhere !== undefined) return disabledFindings(view, plan.elsewhere)
  const holdings = holdingsOf(view)
  const waiting = waitingTexts(view, holdings)
  const refused = [...circumstances.refused.map(asOperator), ...troublesOf(view), ...overdue(waiting, known, epochMs)]
  const [available, degraded] = findingsOf(holdings, { ...circumstances, refused })
  if (available === undefined || degraded === undefined) return []
  const progressing = progressingOf(waiting, circumstances, view.rollout ?? [])
  return [available, progressing, degraded, upgradeable({ ...circumstances, refused }), NOT_DISABLED]
}

/** Gives a problem of the spec the reason that OpenShift's operators have for it. */
const asOperator = (trouble: Trouble): Trouble =>
  trouble.reason === 'SpecInvalid' ? { ...trouble, reason: 'InvalidConfiguration' } : trouble

const NOT_DISABLED: Finding = {
  ...{ type: 'Disabled', status: 'False', reason: 'AsExpected' },
  message: 'the nodes of this platform hold the virtual addresses',
}

/** Returns the conditions on a platform where this operator does nothing. */
function disabledFindings(
  { troubles }: OperatorView,
  { message: why, reason }: NonNullable<ClusterPlan['elsewhere']>,
): readonly Finding[] {
  const message = `nothing is operated: ${why}`
  const [trouble] = troubles
  return [
    { type: 'Available', status: 'True', reason, message },
    { type: 'Progressing', status: 'False', reason, message },
    trouble === undefined
      ? { type: 'Degraded', status: 'False', reason, message }
      : { type: 'Degraded', status: 'True', ...trouble },
    { type: 'Upgradeable', status: 'True', reason, message },
    { type: 'Disabled', status: 'True', reason, message },
  ]
}

const vipsOf = ({ apiVips, ingressVips }: ClusterPlan): readonly (readonly [Service, Address])[] => [
  ...apiVips.map((address) => ['api', address] as const),
  ...ingressVips.map((address) => ['ingress', address] as const),
]

function holdingsOf({ plan, published }: OperatorView): readonly Holding[] {
  return vipsOf(plan).map(([service, address]) => {
    const entry = holdersIn(published).find((holder) => holder.address === address)
    return { address, service, node: entry?.node, others: entry?.alsoAnswering ?? [], by: entry?.saidBy }
  })
}

const holdersIn = (published: OperatorView['published']): Published['holders'] =>
  typeof published === 'object' ? published.holders : []

/** Returns the texts about an installation that is not complete. */
function waitingTexts({ circumstances, published, waitsFor }: OperatorView, holdings: readonly Holding[]): string[] {
  if (published === 'unreadable') return [`${KIND} ${SINGLETON} cannot be read`]
  if (published === undefined) return [`${KIND} ${SINGLETON} is being created`]
  const isWanted = ({ service }: Holding) => service === 'api' || !circumstances.ingressDisabled
  return [
    ...waitsFor,
    ...holdings
      .filter((holding) => holding.node === undefined && isWanted(holding))
      .map(({ address, service }) => `no agent has published the holder of ${SERVICE_NAMES[service]} ${address}`),
  ]
}

function troublesOf({ crashing, plan, published, troubles }: OperatorView): readonly Trouble[] {
  const vips = vipsOf(plan).map(([, address]) => address)
  const strange = holdersIn(published).filter(({ address }) => vips.length > 0 && !vips.includes(address))
  return [
    ...plan.problems.map((message) => ({ reason: 'InvalidConfiguration' as const, message })),
    ...strange.map(({ address, saidBy }) => ({
      reason: 'InvalidConfiguration' as const,
      message: `${address} is published by ${saidBy} and is no virtual address of Infrastructure`,
    })),
    ...crashing.map((pod) => ({
      reason: 'DeploymentCrashLooping' as const,
      message: `a container of ${pod} ends again and again`,
    })),
    ...troubles,
  ]
}

/** Returns a trouble if the same installation has been incomplete for too long, over restarts of the operator, too. */
function overdue(waiting: readonly string[], { conditions }: KnownOperator, epochMs: number): readonly Trouble[] {
  const progressing = conditions.find(({ type }) => type === 'Progressing')
  if (waiting.length === 0 || progressing?.status !== 'True' || progressing.reason !== 'SyncingResources') return []
  if (epochMs - Date.parse(progressing.lastTransitionTime) < DEPLOY_WITHIN) return []
  return [{ reason: 'DeployTimedOut', message: `after ${DEPLOY_WITHIN / 60_000} min: ${waiting.join('; ')}` }]
}

function progressingOf(
  waiting: readonly string[],
  { notManaged, progressing }: Circumstances,
  rollout: readonly string[],
): Finding {
  const type = 'Progressing'
  const all = [...waiting, ...(progressing === undefined ? [] : [progressing]), ...rollout]
  if (all.length === 0)
    return { type, status: 'False', reason: 'DeployComplete', message: notManaged ?? 'no change is in progress' }
  const reason =
    waiting.length > 0 ? 'SyncingResources' : progressing === undefined ? 'OperandRollout' : 'LoadBalancerSwitch'
  return { type, status: 'True', reason, message: all.join('; ') }
}

/** Returns the condition Upgradeable: during a switch of the load balancer, an update would restart both sides of it. */
function upgradeable({ progressing, refused }: Circumstances): Finding {
  const type = 'Upgradeable'
  if (progressing !== undefined) return { type, status: 'False', reason: 'LoadBalancerSwitch', message: progressing }
  const first = refused.find(({ reason }) => reason === 'InvalidConfiguration')
  if (first !== undefined) return { type, status: 'False', reason: first.reason, message: first.message }
  return { type, status: 'True', reason: 'AsExpected', message: 'an update changes nothing that is in progress' }
}

export type OperatorIdentity = { readonly namespace: string; readonly version: string }

/**
 * Returns the status of the ClusterOperator. The version is reported as soon as nothing is in progress; before, the known
 * one stays.
 */
export function operatorStatus(
  findings: readonly Finding[],
  known: KnownOperator,
  { namespace, version }: OperatorIdentity,
  epochMs: number,
): Readonly<Record<string, unknown>> {
  const isDeployed = findings.some(({ status, type }) => type === 'Progressing' && status === 'False')
  const reported = isDeployed ? version : known.version
  // DEPLOY_WITHIN counts from the time of Progressing, in which a switch of the load balancer has no part.
  const dated = known.conditions.filter(
    ({ reason, type }) =>
      type !== 'Progressing' || findings.some((finding) => finding.type === type && finding.reason === reason),
  )
  return {
    conditions: datedConditions(findings, dated, epochMs),
    versions: reported === undefined ? [] : [{ name: 'operator', version: reported }],
    relatedObjects: [
      { group: '', resource: 'namespaces', name: namespace },
      { group: GROUP, resource: PLURAL, name: SINGLETON },
      { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', name: `${PLURAL}.${GROUP}` },
    ],
  }
}

const knownSchema = z.object({
  status: z
    .object({
      conditions: z.array(z.unknown()).catch([]).default([]),
      versions: z
        .array(z.object({ name: z.string(), version: z.string() }))
        .catch([])
        .default([]),
    })
    .catch({ conditions: [], versions: [] })
    .default({ conditions: [], versions: [] }),
})
const conditionSchema = z.object({
  type: z.enum(['Available', 'Progressing', 'Degraded', 'Upgradeable', 'Disabled']),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().default(''),
  message: z.string().default(''),
  lastTransitionTime: z.string(),
})

export const NO_OPERATOR: KnownOperator = { conditions: [], version: undefined }

/** Reads the ClusterOperator of the API, and leaves out invalid parts. */
export function readOperator(object: unknown): KnownOperator {
  const read = knownSchema.safeParse(object)
  if (!read.success) return NO_OPERATOR
  const { conditions, versions } = read.data.status
  return {
    conditions: conditions.flatMap((each) => conditionSchema.safeParse(each).data ?? []),
    version: versions.find(({ name }) => name === 'operator')?.version,
  }
}

/** Texts about the conditions whose status differs from the known one, for Events. */
export function changesOf(findings: readonly Finding[], known: KnownOperator): readonly Finding[] {
  return findings.filter(({ status, type }) => {
    const before = known.conditions.find((condition) => condition.type === type)
    return before !== undefined && before.status !== status
  })
}

/** Returns the object that the operator creates if the cluster has none, with the defaults of an installation. */
export const firstObject = ({ apiVips: [first] }: ClusterPlan): Readonly<Record<string, unknown>> => ({
  ...{ apiVersion: `${GROUP}/v1alpha1`, kind: KIND, metadata: { name: SINGLETON } },
  spec: {
    ingressHa: 'Enabled',
    dns: {
      ...{ nodesResolution: 'Enabled', appsResolution: 'Enabled' },
      ...(first === undefined ? {} : { apiintIpAddress: first }),
    },
  },
})
