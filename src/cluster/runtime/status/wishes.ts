/**
 * Combines the cluster's wishes: stored ones at the start, then each answer of the API, which is stored for the next
 * start. This file decides which virtual routers the engine leaves out. An API that does not answer changes nothing.
 */
import { defined } from '../../../base/defined.ts'
import { messageOf } from '../../../base/message-of.ts'
import { AGENT_LOG } from '../../../log/agent-events.ts'
import type { Intent } from '../../decisions/agent-state.ts'
import type { Elsewhere } from '../../decisions/engine/platform.ts'
import type { Toggle } from '../../decisions/status/intent.ts'
import type { AgentPorts } from '../agent.ts'
import { isRemembered, type RememberedIntent, rememberIntent } from './intent-memory.ts'

export type WishesOptions = {
  readonly directory: string
  readonly remembered: RememberedIntent
  /** True if the agent follows the HostedNetServices object; otherwise ingress is always wanted. */
  readonly isFollowed: boolean
  /** True if a bootstrap node has released its VIPs. */
  readonly isStopped: boolean
  readonly onIntent: (intent: Intent) => void
  readonly log: AgentPorts['log']
}

/** Returns the services that the engine should hold. */
export function intentBy(
  { elsewhere, ingressHa }: RememberedIntent,
  { isFollowed, isStopped }: Pick<WishesOptions, 'isFollowed' | 'isStopped'>,
): Intent {
  if (elsewhere !== undefined || isStopped) return { api: false, ingress: false }
  const wished = ingressHa === undefined ? 'unknown' : ingressHa === 'Enabled'
  return { api: true, ingress: isFollowed ? wished : true }
}

export class Wishes {
  readonly #options: WishesOptions
  #known: RememberedIntent
  #isStopped: boolean
  #written: RememberedIntent
  /** Reason why the last wishes could not be stored in a file; empty if they were stored. */
  #problem = ''

  constructor(options: WishesOptions) {
    this.#options = options
    this.#known = options.remembered
    this.#isStopped = options.isStopped
    this.#written = options.remembered
  }

  get intent(): Intent {
    const { isFollowed } = this.#options
    return intentBy(this.#known, { isFollowed, isStopped: this.#isStopped })
  }

  /** Last reported value of ingressHa. */
  get ingressHa(): Toggle | undefined {
    return this.#known.ingressHa
  }

  get elsewhere(): Elsewhere | undefined {
    return this.#known.elsewhere
  }

  /** Takes an answer of the API: the reason why the nodes hold no VIP; `undefined` if they hold the VIPs. */
  elsewhereIs(elsewhere: Elsewhere | undefined): void {
    const { elsewhere: _before, ...rest } = this.#known
    this.#news({ ...rest, ...defined({ elsewhere }) })
  }

  /** Takes the order of a bootstrap node's guard. */
  stoppedIs(isStopped: boolean): void {
    if (isStopped === this.#isStopped) return
    this.#isStopped = isStopped
    this.#options.onIntent(this.intent)
  }

  /** Takes the value of ingressHa in an answer of the API. */
  ingressIs(ingressHa: Toggle): void {
    this.#news({ ...this.#known, ingressHa })
  }

  #news(known: RememberedIntent): void {
    const { directory, log, onIntent } = this.#options
    const before = JSON.stringify(this.intent)
    this.#known = known
    try {
      if (JSON.stringify(known) !== JSON.stringify(this.#written) || !isRemembered(directory))
        rememberIntent(directory, known)
      this.#written = known
      this.#problem = ''
    } catch (error) {
      const problem = `Cannot store which VIPs the cluster wants on its nodes: ${messageOf(error)}`
      if (problem !== this.#problem) log(AGENT_LOG.intentNotStored, problem)
      this.#problem = problem
    }
    if (JSON.stringify(this.intent) === before) return
    if (known.elsewhere === undefined)
      log(AGENT_LOG.wishesChanged, 'the cluster wants other VIPs on its nodes than before', known)
    else log(AGENT_LOG.vipsElsewhere, `the nodes hold no VIPs: ${known.elsewhere.message}`)
    onIntent(this.intent)
  }
}
