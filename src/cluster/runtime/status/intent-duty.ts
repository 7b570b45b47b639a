/**
 * Follows the administrator's wishes: reads the HostedNetServices object, asks kube-api at the wanted address, and
 * gives the wanted services for the engine and the texts for the conditions. This file decides how often kube-api is
 * asked. This file knows nothing about how the object is watched.
 */

import type { Address } from '../../../wire/address.ts'
import type { DnsReport } from '../../decisions/dns/dns-report.ts'
import { type Migration, readMigration } from '../../decisions/operator/migration.ts'
import { type Balancer, FIRST_BALANCER, stepBalancer, toAsk } from '../../decisions/status/balancer.ts'
import { newsOf } from '../../decisions/status/balancer-news.ts'
import type { Circumstances, ProbeFinding, Trouble } from '../../decisions/status/finding.ts'
import {
  firstIntent,
  type Intent,
  type IntentNews,
  type IntentState,
  notManaged,
  stepIntent,
  type Toggle,
} from '../../decisions/status/intent.ts'

/** Milliseconds between two requests to kube-api. */
const ASK_EVERY = 5_000

export type IntentDutyOptions = {
  readonly apiVips: readonly Address[]
  readonly ingressVips: readonly Address[]
  /** Sends a request to kube-api at an address. Returns `undefined` after an answer, otherwise the reason. */
  readonly ask: (address: Address) => Promise<string | undefined>
  /** Called with the wishes in the object after its first reading and after each change. */
  readonly onIntent: (intent: Intent) => void
  /** Value of ingressHa that the API reported last, in an earlier run of the agent. */
  readonly remembered?: Toggle | undefined
  readonly askEveryMs?: number
  /** Returns the report of `holdfast corednsmonitor` on this node; `undefined` if that process does not run here. */
  readonly dns?: (() => DnsReport | undefined) | undefined
}

export class IntentDuty {
  readonly #options: IntentDutyOptions
  #intent: IntentState
  #balancer: Balancer = FIRST_BALANCER
  #nodes: readonly Address[] = []
  /** Phase that an operator has stored; `undefined` if no operator has stored one. */
  #phase: Migration | undefined
  readonly #timer: NodeJS.Timeout
  #isAsking = false
  #isWanted = false

  constructor(options: IntentDutyOptions) {
    this.#options = options
    this.#intent = firstIntent(options.remembered)
    this.#timer = setInterval(() => void this.#turn(), options.askEveryMs ?? ASK_EVERY)
    this.#timer.unref()
  }

  end(): void {
    clearInterval(this.#timer)
  }

  get intent(): Intent {
    return this.#intent.intent
  }

  /** True if the API has answered about the object, and the answer was valid. */
  get isKnown(): boolean {
    return this.#intent.isKnown
  }

  get balancer(): Balancer {
    return this.#balancer
  }

  /**
   * Starts or stops the requests to kube-api at the wanted address. The node that publishes the conditions needs to
   * know whether kube-api answers.
   */
  want(isWanted: boolean): void {
    if (isWanted === this.#isWanted) return
    this.#isWanted = isWanted
    if (isWanted) void this.#turn()
  }

  /** Number of specs of HostedNetServices that were refused or could not be read. */
  get refused(): number {
    return this.#intent.refused
  }

  /** Sets the addresses of the nodes. The address of a node is refused as the address of a load balancer. */
  nodesAre(addresses: readonly Address[]): void {
    this.#nodes = addresses
  }

  news(news: IntentNews): void {
    this.#intent = stepIntent(this.#intent, news)
    if (news.kind === 'object') this.#phase = readMigration(news.value)
    if (news.kind === 'none') this.#phase = undefined
    const { intent, isKnown } = this.#intent
    const { apiVips, ingressVips, onIntent } = this.#options
    const wish = { apiintIpAddress: intent.apiintIpAddress, apiVips, taken: [...ingressVips, ...this.#nodes] }
    this.#balancer = stepBalancer(this.#balancer, { kind: 'wished', wish })
    if (isKnown) onIntent(intent)
  }

  /** Returns the facts about the administrator's wishes for the conditions. */
  circumstances(probe: ProbeFinding): Circumstances {
    const dns = this.#options.dns?.()
    const around = { dns, phase: this.#phase }
    const { inForce, notManaged: outside, progressing, wrong } = newsOf(this.#balancer, around)
    const { intent, isKnown, problems, unreadable } = this.#intent
    const rest = isKnown
      ? 'the last valid spec stays in force'
      : 'no valid spec is known: ingress stays as the engine has it'
    const invalid: readonly Trouble[] = problems.map((problem) => ({
      reason: 'SpecInvalid',
      message: `${problem}; ${rest}`,
    }))
    const hidden: readonly Trouble[] =
      unreadable === undefined ? [] : [{ reason: 'SpecUnreadable', message: `${unreadable}; ${rest}` }]
    const refused: readonly Trouble[] = wrong === undefined ? [] : [{ reason: 'LoadBalancerRefused', message: wrong }]
    const kept: readonly Trouble[] =
      dns?.kept === undefined
        ? []
        : [{ reason: 'CorefileKept', message: `CoreDNS on this node keeps its Corefile: ${dns.kept}` }]
    return {
      ...{ probe, progressing, inForce, refused: [...invalid, ...hidden, ...refused, ...kept] },
      ingressDisabled: intent.ingressHa === 'Disabled',
      notManaged: [outside, notManaged(intent, dns)].filter((line) => line !== undefined).join('; ') || undefined,
    }
  }

  async #turn(): Promise<void> {
    const place = toAsk(this.#balancer)
    if (!this.#isWanted || place === undefined || this.#isAsking) return
    this.#isAsking = true
    const failed = await this.#options.ask(place)
    this.#isAsking = false
    this.#balancer = stepBalancer(this.#balancer, { kind: 'asked', place, failed })
  }
}
