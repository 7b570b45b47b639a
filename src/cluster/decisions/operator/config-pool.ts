/** Reads a MachineConfigPool: nodes of one role, to which the Machine Config Operator writes files one after the other. Pure. */
import * as z from 'zod'
import type { Trouble } from '../status/finding.ts'

export type ConfigPool = {
  readonly name: string
  readonly isPaused: boolean
  readonly machines: number
  readonly updated: number
  /** Message of the condition Degraded; `undefined` if the pool is not degraded. */
  readonly degraded: string | undefined
}

const conditionSchema = z.object({ type: z.string(), status: z.string(), message: z.string().default('') })
const schema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z
    .object({ paused: z.boolean().default(false) })
    .catch({ paused: false })
    .default({ paused: false }),
  status: z.object({
    machineCount: z.number().default(0),
    updatedMachineCount: z.number().default(0),
    conditions: z.array(conditionSchema).catch([]).default([]),
  }),
})

/** Returns the pool; `undefined` if the object has no usable status. */
export function readConfigPool(object: unknown): ConfigPool | undefined {
  const read = schema.safeParse(object)
  if (!read.success) return undefined
  const { metadata, spec, status } = read.data
  const degraded = status.conditions.find((each) => each.type === 'Degraded' && each.status === 'True')
  return {
    ...{ name: metadata.name, isPaused: spec.paused, degraded: degraded?.message },
    ...{ machines: status.machineCount, updated: status.updatedMachineCount },
  }
}

/** Returns a text for each pool that has not written the present files to all of its nodes. */
export const poolTexts = (pools: readonly ConfigPool[]): readonly string[] =>
  pools
    .filter(({ machines, updated }) => updated < machines)
    .map(
      ({ isPaused, machines, name, updated }) =>
        `pool ${name}: ${updated} of ${machines} nodes are updated${isPaused ? ', and the pool is paused' : ''}`,
    )
    .sort()

/** Returns `pool NAME` if the pool has not written the present files to all of its nodes. */
export const unfinished = (pools: readonly ConfigPool[], name: string): readonly string[] =>
  pools.filter((pool) => pool.name === name && pool.updated < pool.machines).map(() => `pool ${name}`)

export const poolTroubles = (pools: readonly ConfigPool[]): readonly Trouble[] =>
  pools.flatMap(({ degraded, name }) =>
    degraded === undefined
      ? []
      : [{ reason: 'OperandsNotRolledOut' as const, message: `MachineConfigPool ${name} is degraded: ${degraded}` }],
  )
