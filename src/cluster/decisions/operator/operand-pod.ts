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
}

const TASKS = ['vrrp', 'api-lb', 'coredns'] as const
export type Task = (typeof TASKS)[number]

const statusesSchema = z
  .array(z.object({ state: z.object({ waiting: z.object({ reason: z.string().optional() }).optional() }).optional() }))
  .catch([])
  .default([])
const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()).catch({}).default({}),
    deletionTimestamp: z.string().optional().catch(undefined),
  }),
  spec: z.object({ nodeName: z.string().default('') }),
  status: z
    .object({ phase: z.string().optional(), containerStatuses: statusesSchema, initContainerStatuses: statusesSchema })
    .catch({ containerStatuses: [], initContainerStatuses: [] })
    .default({ containerStatuses: [], initContainerStatuses: [] }),
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
  }
}

/** Texts about pods of the Machine Config Operator on nodes where a pod of holdfast has the same task. */
export function waitingFor(pods: readonly OperandPod[]): readonly string[] {
  const ours = pods.filter(({ isOurs }) => isOurs)
  return pods
    .filter((pod) => !pod.isOurs && ours.some(({ node, task }) => node === pod.node && task === pod.task))
    .map(({ name, node }) => `pod ${name} of the Machine Config Operator still runs on ${node}`)
    .sort()
}
