/**
 * Carries the switch of the load balancer through its phases: asks the nodes, and stores each phase in HostedNetServices. The
 * phases are in decisions/operator/migration.ts. This file decides how often the nodes are asked, and that a phase is entered
 * only after the one before was stored.
 */

import { type Address, familyOf, parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../../decisions/cluster-node.ts'
import { CONFIG_ROLES, isControlPlane } from '../../decisions/engine/upstream-names.ts'
import type { ClusterPlan } from '../../decisions/operator/cluster-plan.ts'
import { type ConfigPool, unfinished } from '../../decisions/operator/config-pool.ts'
import {
  asksIn,
  continued,
  firstMigration,
  type Migration,
  type MigrationInput,
  migrationText,
  readMigration,
  stepMigration,
  storedMigration,
} from '../../decisions/operator/migration.ts'
import { getsOperands } from '../../decisions/operator/operands.ts'
import { type Balancer, IN_A_ROW } from '../../decisions/status/balancer.ts'
import type { Trouble } from '../../decisions/status/finding.ts'
import { GROUP, KIND, SINGLETON, VERSION } from '../../decisions/status/published-status.ts'
import type { StatusApi } from '../status/status-api.ts'
import { OBJECTS_PATH } from './cluster-view.ts'
import type { NodeQuestions } from './node-questions.ts'
import type { WriteCounters } from './write-counters.ts'

export type SwitchOptions = {
  readonly api: Pick<StatusApi, 'write'>
  readonly writes: WriteCounters
  readonly questions: NodeQuestions
  /** Asks kube-api at an external address. `name`: name of the API in its certificate. Resolves with the reason of a failure. */
  readonly askExternal: (address: Address, name: string | undefined) => Promise<string | undefined>
  readonly graceMs: number
  readonly onPhase: (next: Migration, text: string | undefined) => void
  /** Called after the nodes have answered, or a phase was stored. */
  readonly onChange: () => void
}

export class BalancerSwitchDuty {
  readonly #options: SwitchOptions
  /** `undefined` until the object was read. */
  #state: Migration | undefined
  /** State that the API has accepted last. */
  #stored: string | undefined
  /** State in the object that was shown last. */
  #shown: string | undefined
  /** HostedNetServices as it was shown last. */
  #object: unknown
  /** The clock is set once, so a step of the machine's clock does not end a grace period. */
  readonly #beganMs = Date.now() - performance.now()
  #input: MigrationInput | undefined
  #behind: readonly string[] | undefined
  /** Failed requests in a row to kube-api at the address of `api-int`. */
  #failures = 0
  #isAsking = false
  #isWriting = false
  #trouble: Trouble | undefined
  #ended = false

  constructor(options: SwitchOptions) {
    this.#options = options
  }

  end(): void {
    this.#ended = true
  }

  get trouble(): Trouble | undefined {
    return this.#trouble
  }

  get state(): Migration | undefined {
    return this.#state
  }

  /** Order about HAProxy in the phase that the API has stored; `undefined` until it has stored the present one. */
  get haproxy(): Migration['haproxy'] | undefined {
    return this.#state !== undefined && this.#stored === textOf(this.#state) ? this.#state.haproxy : undefined
  }

  /** Text about the switch in progress; `undefined` if nothing is in progress. */
  get text(): string | undefined {
    return this.#state && this.#input && migrationText(this.#state, this.#input)
  }

  /**
   * Compares the phase with the cluster. `object`: HostedNetServices as the API shows it. `pools`: pools whose files change with
   * the phase.
   */
  turn(
    object: unknown,
    balancer: Balancer,
    plan: ClusterPlan,
    nodes: readonly ClusterNode[],
    pools: readonly ConfigPool[] = [],
  ): void {
    const epochMs = this.#beganMs + performance.now()
    if (object !== this.#object || this.#state === undefined) {
      const isFirst = this.#state === undefined
      const read = readMigration(object)
      this.#object = object
      this.#shown = read && textOf(read)
      this.#state ??= read === undefined ? firstMigration(epochMs) : continued(read, epochMs)
      // The write failed because another client may have written, or the object is a new one without a phase.
      if (isFirst || this.#shown !== textOf(this.#state)) this.#stored = this.#shown
    }
    const state = this.#state
    const asks = asksIn(state)
    // HAProxy that still runs may be stopped by an earlier configuration that the pool has not left yet.
    const late = state.phase === 'StartingHAProxy' ? unfinished(pools, CONFIG_ROLES.controlPlane) : []
    this.#input = {
      ...{ balancer, epochMs, graceMs: this.#options.graceMs },
      namesBehind: asks === 'names' ? this.#behind : undefined,
      haproxyBehind: asks === 'haproxy' ? this.#behind && [...this.#behind, ...late] : undefined,
      isSilent: this.#failures >= IN_A_ROW,
    }
    if (this.#stored !== textOf(state)) return void this.#store(state)
    const next = stepMigration(state, this.#input)
    if (next !== state) {
      this.#behind = undefined
      this.#failures = 0
      this.#state = next
      this.#options.onPhase(next, this.text)
      return void this.#store(next)
    }
    if (asks !== undefined) void this.#ask(state, asks, plan, nodes)
  }

  async #store(state: Migration): Promise<void> {
    if (this.#isWriting) return
    this.#isWriting = true
    const before = this.#object
    const { api, onChange, writes } = this.#options
    const query = new URLSearchParams({ fieldManager: 'holdfast-operator', force: 'true' })
    const head = { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: SINGLETON } }
    const path = `${OBJECTS_PATH}/${SINGLETON}/status?${query}`
    const apply = { method: 'PATCH', path, contentType: 'application/apply-patch+yaml' } as const
    const written = await writes.of(api.write({ ...apply, body: { ...head, status: storedMigration(state) } }), KIND)
    this.#isWriting = false
    if (this.#ended) return
    // An API server answers an apply with a field that its definition does not have by 500.
    if (written.kind === 'failed' && written.why.includes('failed to create typed patch object'))
      this.#troubleIs(TOO_OLD)
    if (written.kind === 'refused') this.#troubleIs(refusedBy(written.why))
    if (written.kind !== 'done') return
    // An API with an older definition drops fields that it does not know.
    const isStored = readMigration(written.object) !== undefined
    this.#troubleIs(isStored ? undefined : TOO_OLD)
    // An object that was shown meanwhile may be newer than this write.
    const text = textOf(state)
    if (isStored && (this.#object === before || this.#shown === text)) this.#stored = text
    if (isStored) onChange()
  }

  #troubleIs(trouble: Trouble | undefined): void {
    const isNew = trouble?.message !== this.#trouble?.message
    this.#trouble = trouble
    if (isNew) this.#options.onChange()
  }

  async #ask(
    state: Migration,
    asks: 'names' | 'haproxy',
    plan: ClusterPlan,
    nodes: readonly ClusterNode[],
  ): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    const asked = nodes.filter(({ labels }) => (asks === 'names' ? getsOperands(labels) : isControlPlane(labels)))
    const behind = await Promise.all(
      asked.map(async (node) => {
        const has = asks === 'names' ? await this.#isLed(node, state, plan) : await this.#isFollowed(node, state)
        return has ? [] : [node.name]
      }),
    )
    const isAnswering = await this.#isAnswering(state, plan)
    this.#isAsking = false
    if (this.#ended || this.#state !== state) return
    this.#failures = isAnswering ? 0 : this.#failures + 1
    // No node is no answer.
    const found = asked.length === 0 ? undefined : behind.flat().sort()
    const isNew = JSON.stringify(found) !== JSON.stringify(this.#behind)
    this.#behind = found
    if (isNew || this.#failures === IN_A_ROW) this.#options.onChange()
  }

  /** Tells whether kube-api answers at the external address while HAProxy is started. */
  async #isAnswering({ apiInt, phase }: Migration, plan: ClusterPlan): Promise<boolean> {
    if (phase !== 'StartingHAProxy' || apiInt === undefined) return true
    return (await this.#options.askExternal(apiInt, plan.apiInt)) === undefined
  }

  async #isLed(node: ClusterNode, { apiInt }: Migration, plan: ClusterPlan): Promise<boolean> {
    const server = addressOf(node)
    const wanted = apiInt ?? plan.apiVips[0]
    if (server === undefined || plan.apiInt === undefined || wanted === undefined) return false
    const answer = await this.#options.questions.names(server, plan.apiInt, familyOf(wanted))
    if (typeof answer === 'string') return false
    return answer.length > 0 && answer.every((each) => parseAddress(each) === wanted)
  }

  async #isFollowed(node: ClusterNode, { haproxy }: Migration): Promise<boolean> {
    const address = addressOf(node)
    if (address === undefined) return false
    const { questions } = this.#options
    return haproxy === 'Stopped' ? questions.isClosed(address) : questions.isReady(address)
  }
}

const TOO_OLD: Trouble = {
  reason: 'DefinitionTooOld',
  message:
    'the CustomResourceDefinition of HostedNetServices has no status.loadBalancer, so the load balancer is not switched: apply deploy/operator',
}

const refusedBy = (why: string): Trouble => ({
  reason: 'AccessDenied',
  message: `the phase of the load balancer cannot be stored in HostedNetServices: ${why}`,
})

const textOf = (state: Migration): string => JSON.stringify(storedMigration(state))

const addressOf = ({ addresses }: ClusterNode): Address | undefined => {
  const own = addresses.find(({ type }) => type === 'InternalIP')
  return own === undefined ? undefined : parseAddress(own.address)
}
