/**
 * Follows what the administrator wishes: takes the object's news, asks for kube-api where the API is to be, and tells what
 * the engine is to leave out and what is to be said of it. Decided here: how often is asked. Refuses to know who watches the
 * object, and changes nothing itself.
 */

import type { Address } from '../../../wire/address.ts'
import { type Balancer, FIRST_BALANCER, newsOf, stepBalancer, toAsk } from '../../decisions/status/balancer.ts'
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

/** Milliseconds. */
const ASK_EVERY = 5_000

export type IntentDutyOptions = {
  readonly apiVips: readonly Address[]
  readonly ingressVips: readonly Address[]
  /** Undefined: kube-api answers there. Otherwise why not. */
  readonly ask: (address: Address) => Promise<string | undefined>
  /** At each news after which it is known. */
  readonly onIntent: (intent: Intent) => void
  /** ingressHa as the API said it last. */
  readonly remembered?: Toggle | undefined
  readonly askEveryMs?: number
}

export class IntentDuty {
  readonly #options: IntentDutyOptions
  #intent: IntentState
  #balancer: Balancer = FIRST_BALANCER
  #nodes: readonly Address[] = []
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

  get balancer(): Balancer {
    return this.#balancer
  }

  /** Asks kube-api at the wanted address, at once and at each interval, or stops: the node that publishes has to know. */
  want(isWanted: boolean): void {
    if (isWanted === this.#isWanted) return
    this.#isWanted = isWanted
    if (isWanted) void this.#turn()
  }

  /** Times that a spec was refused, or could not be read. */
  get refused(): number {
    return this.#intent.refused
  }

  /** None of them can be a load balancer. */
  nodesAre(addresses: readonly Address[]): void {
    this.#nodes = addresses
  }

  news(news: IntentNews): void {
    this.#intent = stepIntent(this.#intent, news)
    const { intent, isKnown } = this.#intent
    const { apiVips, ingressVips, onIntent } = this.#options
    const wish = { apiintIpAddress: intent.apiintIpAddress, apiVips, taken: [...ingressVips, ...this.#nodes] }
    this.#balancer = stepBalancer(this.#balancer, { kind: 'wished', wish })
    if (isKnown) onIntent(intent)
  }

  /** For whoever publishes. */
  circumstances(probe: ProbeFinding): Circumstances {
    const { notManaged: outside, progressing, wrong } = newsOf(this.#balancer)
    const { intent, isKnown, problems, unreadable } = this.#intent
    const rest = isKnown
      ? 'the last good spec stays in force'
      : 'no good spec is known: ingress stays as the engine has it'
    const invalid: readonly Trouble[] = problems.map((problem) => ({
      reason: 'SpecInvalid',
      message: `${problem}; ${rest}`,
    }))
    const hidden: readonly Trouble[] =
      unreadable === undefined ? [] : [{ reason: 'SpecUnreadable', message: `${unreadable}; ${rest}` }]
    const refused: readonly Trouble[] = wrong === undefined ? [] : [{ reason: 'LoadBalancerRefused', message: wrong }]
    return {
      ...{ probe, progressing, refused: [...invalid, ...hidden, ...refused] },
      ingressDisabled: intent.ingressHa === 'Disabled',
      notManaged: [outside, notManaged(intent)].filter((line) => line !== undefined).join('; ') || undefined,
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
