/**
 * Reads a pod in the platform's namespace: a pod of holdfast, or a pod of the Machine Config Operator with the same task.
 * This file decides which pods count. Pure.
 */
import * as z from 'zod'

export type OperandPod = {
  readonly name: string
  readonly node: string
  /** Task of the pod: `vrrp`, `api-lb` or `coredns`. */
  readonly task: Task
  /** True if the pod is one of holdfast's. */
  readonly isOurs: boolean
  /** True if a container of the pod waits for its restart, because it ended again and again. */
  readonly isCrashing: boolean
  /** Revision of the manifest, which the operator sets in pods that it places; `undefined` in other pods. */
  readonly revision: string | undefined
  readonly isReady: boolean
  /** True if the pod waits until another program on its node has left the ports. */
  readonly isWaitingForPorts: boolean
}

/** Annotation of a pod with the revision of its manifest. */
export const REVISION = 'holdfast/revision'

const TASKS = ['vrrp', 'api-lb', 'coredns'] as const
export type Task = (typeof TASKS)[number]

const statusesSchema = z
  .array(
    z.object({
      name: z.string().default(''),
      state: z
        .object({ running: z.unknown().optional(), waiting: z.object({ reason: z.string().optional() }).optional() })
        .optional(),
    }),
  )
  .catch([])
  .default([])
const conditionsSchema = z
  .array(z.object({ type: z.string(), status: z.string() }))
  .catch([])
  .default([])
const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()).catch({}).default({}),
    annotations: z.record(z.string(), z.string()).catch({}).default({}),
    deletionTimestamp: z.string().optional().catch(undefined),
  }),
  spec: z.object({ nodeName: z.string().default('') }),
  status: z
    .object({
      phase: z.string().optional(),
      containerStatuses: statusesSchema,
      initContainerStatuses: statusesSchema,
      conditions: conditionsSchema,
    })
    .catch({ containerStatuses: [], initContainerStatuses: [], conditions: [] })
    .default({ containerStatuses: [], initContainerStatuses: [], conditions: [] }),
})

/** Returns the pod; `undefined` if it has none of the tasks, or has ended. */
export function readOperandPod(object: unknown): OperandPod | undefined {
  const read = podSchema.safeParse(object)
  if (!read.success) return undefined
  const { metadata, spec, status } = read.data
  const app = metadata.labels.app ?? ''
  const task = TASKS.find((each) => app.endsWith(`-infra-${each}`))
  if (task === undefined || status.phase === 'Succeeded' || status.phase === 'Failed') return undefined
  const states = [...status.containerStatuses, ...status.initContainerStatuses]
  return {
    ...{ name: metadata.name, node: spec.nodeName, task },
    isOurs: metadata.labels['app.kubernetes.io/name'] === 'holdfast',
    isCrashing: states.some(({ state }) => state?.waiting?.reason === 'CrashLoopBackOff'),
    revision: metadata.annotations[REVISION],
    isReady: status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
    isWaitingForPorts: status.initContainerStatuses.some(
      ({ name, state }) => name === 'wait-for-ports' && state?.running !== undefined,
    ),
  }
}

/**
 * Texts about pods of the Machine Config Operator on nodes where a pod of holdfast has the same task, and about pods of
 * holdfast that wait for ports.
 */
export function waitingFor(pods: readonly OperandPod[]): readonly string[] {
  const ours = pods.filter(({ isOurs }) => isOurs)
  const others = pods
    .filter((pod) => !pod.isOurs && ours.some(({ node, task }) => node === pod.node && task === pod.task))
    .map(({ name, node }) => `pod ${name} of the Machine Config Operator still runs on ${node}`)
  const waiting = ours
    .filter(({ isWaitingForPorts }) => isWaitingForPorts)
    .map(({ name, node }) => `pod ${name} waits until another program on ${node} has left its ports`)
  return [...others, ...waiting].sort()
}
