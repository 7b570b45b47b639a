/**
 * Writes the MachineConfigs of HAProxy and CoreDNS by server-side apply, and tells whether the nodes have followed. This file
 * decides when an unchanged MachineConfig is written again, in case another client has changed or deleted it. The content is
 * decided in decisions/operator/operands.ts.
 */
import { createHash } from 'node:crypto'
import type { ClusterNode } from '../../decisions/cluster-node.ts'
import type { ClusterPlan } from '../../decisions/operator/cluster-plan.ts'
import { type ConfigPool, poolTexts, poolTroubles } from '../../decisions/operator/config-pool.ts'
import type { Migration } from '../../decisions/operator/migration.ts'
import type { OperandPod } from '../../decisions/operator/operand-pod.ts'
import { type Operand, type OperandSource, operandConfigs, rolloutTexts } from '../../decisions/operator/operands.ts'
import type { Trouble } from '../../decisions/status/finding.ts'
import { PartWriter } from '../status/part-writer.ts'
import type { StatusApi, Written } from '../status/status-api.ts'
import type { WriteCounters } from './write-counters.ts'

export type OperandOptions = {
  readonly api: Pick<StatusApi, 'write'>
  readonly writes: WriteCounters
  readonly source: OperandSource
  /** Milliseconds after which the same MachineConfigs are written again. */
  readonly againMs: number
  readonly onChange: () => void
}

export const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs'
export const POOLS = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools'
const MANAGER = new URLSearchParams({ fieldManager: 'holdfast-operator', force: 'true' }).toString()

export class OperandDuty {
  readonly #options: OperandOptions
  readonly #parts = new Map<string, PartWriter>()
  /** Trouble of a refused MachineConfig, by its name. */
  readonly #refused = new Map<string, Trouble>()
  /** Content that the API has accepted last, by the name of the MachineConfig. */
  readonly #written = new Map<string, string>()
  /** Reason why a MachineConfig with new content is not written yet, by its name. */
  readonly #failed = new Map<string, string>()
  /** `undefined` until the phase of the load balancer is stored, because the pods depend on it. */
  #operands: readonly Operand[] | undefined
  #problem: string | undefined
  #wantedAt = Number.NEGATIVE_INFINITY
  #ended = false

  constructor(options: OperandOptions) {
    this.#options = options
  }

  end(): void {
    this.#ended = true
    for (const part of this.#parts.values()) part.end()
  }

  /** Places the pods for a cluster. `haproxy`: whether HAProxy should run. */
  want(plan: ClusterPlan, haproxy: Migration['haproxy']): void {
    if (this.#ended) return
    const made = operandConfigs(this.#options.source, plan, haproxy, digest)
    this.#problem = 'problem' in made ? made.problem : undefined
    if ('problem' in made) return
    this.#operands = made.operands
    const now = performance.now()
    const isAgain = now - this.#wantedAt >= this.#options.againMs
    if (isAgain) this.#wantedAt = now
    for (const { name, object } of made.configs) {
      const part = this.#parts.get(name) ?? new PartWriter((body) => this.#write(name, body))
      this.#parts.set(name, part)
      if (isAgain && !this.#refused.has(name)) part.forget()
      part.want(JSON.stringify(object), true)
    }
  }

  /** Returns the texts about nodes that do not run the present pods. */
  rollout(nodes: readonly ClusterNode[], pods: readonly OperandPod[], pools: readonly ConfigPool[]): readonly string[] {
    if (this.#operands === undefined) return ['the static pods are not placed yet']
    const open = [...this.#failed].map(([name, why]) => `MachineConfig ${name} is not written yet: ${why}`)
    const texts = [...open, ...rolloutTexts(this.#operands, nodes, pods)]
    return texts.length === 0 ? [] : [...texts, ...poolTexts(pools)]
  }

  troubles(pools: readonly ConfigPool[]): readonly Trouble[] {
    return [
      ...this.#refused.values(),
      ...(this.#problem === undefined
        ? []
        : [{ reason: 'InvalidConfiguration' as const, message: `no pod can be placed: ${this.#problem}` }]),
      ...poolTroubles(pools),
    ]
  }

  async #write(name: string, body: string): Promise<Written> {
    const { api, onChange, writes } = this.#options
    const apply = { method: 'PATCH', contentType: 'application/apply-patch+yaml' } as const
    const path = `${CONFIGS}/${name}?${MANAGER}`
    const written = await writes.of(api.write({ ...apply, path, body: JSON.parse(body) }), `MachineConfig ${name}`)
    if (this.#ended) return written
    const shown = () => `${this.#refused.get(name)?.message} ${this.#failed.get(name)}`
    const before = shown()
    const why = written.kind === 'missing' ? 'the API has no MachineConfig' : written.kind === 'done' ? '' : written.why
    if (written.kind === 'refused' || written.kind === 'missing') this.#refused.set(name, refusal(name, why))
    const isOpen = (written.kind === 'failed' || written.kind === 'conflict') && this.#written.get(name) !== body
    if (isOpen) this.#failed.set(name, why)
    else this.#failed.delete(name)
    if (written.kind === 'done') {
      this.#refused.delete(name)
      this.#written.set(name, body)
    }
    if (shown() !== before) onChange()
    return written
  }
}

/** Returns the trouble of a write that the API does not accept. The codes 400 and 422 mean the content, not a right. */
const refusal = (name: string, why: string): Trouble => ({
  reason: /^(400|422): /.test(why) ? 'InvalidConfiguration' : 'AccessDenied',
  message: `MachineConfig ${name} cannot be written: ${why}`,
})

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)
