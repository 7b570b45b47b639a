/**
 * Follows the wishes about DNS in HostedNetServices: one watch of the object, and requests to kube-api at the address
 * of an external load balancer. Without an answer of the API the wishes stay.
 */
import type { Address } from '../../../wire/address.ts'
import { apiIntAfter, apiIntByOperator } from '../../decisions/dns/api-int.ts'
import type { DnsWishes } from '../../decisions/dns/corefile-wishes.ts'
import { type Migration, readMigration } from '../../decisions/operator/migration.ts'
import { GROUP, PLURAL, SINGLETON, VERSION } from '../../decisions/status/published-status.ts'
import type { ApiFailure } from '../api/api-failure.ts'
import type { ClusterClient } from '../api/cluster-client.ts'
import { watchObjects } from '../api/object-watch.ts'
import { askReadyz, PROBE } from '../api/vip-probe.ts'
import { IntentDuty } from '../status/intent-duty.ts'
import { failedIntent } from '../status/status-duty.ts'

export type DnsWishesOptions = {
  readonly client: Pick<ClusterClient, 'ask' | 'stream'>
  readonly apiVips: readonly Address[]
  readonly ingressVips: readonly Address[]
  readonly apiPort: number
  /** Address of `api-int` in the Corefile in force; `undefined`: the VIP. */
  readonly apiInt: Address | undefined
  readonly onFailure: (failure: ApiFailure) => void
}

export class DnsWishWatch {
  readonly #intent: IntentDuty
  readonly #options: DnsWishesOptions
  #isKnown = false
  #apiInt: Address | undefined
  /** Phase that an operator has stored last; `undefined` if no operator has stored one. */
  #phase: Migration | undefined

  constructor(options: DnsWishesOptions) {
    const { apiInt, apiPort, apiVips, ingressVips } = options
    this.#options = options
    this.#apiInt = apiInt
    this.#intent = new IntentDuty({
      ...{ apiVips, ingressVips },
      ask: (address) => askReadyz(address, { ...PROBE, port: apiPort }),
      onIntent: () => {
        this.#isKnown = true
      },
    })
    this.#intent.want(true)
  }

  /** Returns the wishes; `undefined` until the API has answered. */
  get wishes(): DnsWishes | undefined {
    if (!this.#isKnown) return undefined
    const { balancer } = this.#intent
    // An operator decides when all nodes change. Without one, each node decides for itself.
    this.#apiInt =
      this.#phase === undefined
        ? apiIntAfter(this.#apiInt, balancer)
        : apiIntByOperator(this.#apiInt, this.#phase.apiInt, balancer)
    const { appsResolution, nodesResolution } = this.#intent.intent
    return { apps: appsResolution === 'Enabled', nodes: nodesResolution === 'Enabled', apiInt: this.#apiInt }
  }

  /** Address of `api-int` besides the VIP, also before the API has answered. */
  get apiInt(): Address | undefined {
    return this.#apiInt
  }

  nodesAre(addresses: readonly Address[]): void {
    this.#intent.nodesAre(addresses)
  }

  end(): void {
    this.#intent.end()
  }

  /** Watches the object until `signal` is aborted. */
  watch(signal: AbortSignal): Promise<void> {
    return watchObjects<{ readonly value: unknown }>(
      this.#options.client,
      {
        ...{ path: `/apis/${GROUP}/${VERSION}/${PLURAL}`, query: { fieldSelector: `metadata.name=${SINGLETON}` } },
        read: (value) => ({ value }),
        onObjects: (objects) => {
          const [found] = [...objects.values()]
          // The phase outlives the object: the operator stores it again in a new one.
          this.#phase = readMigration(found?.value) ?? this.#phase
          this.#intent.news(found === undefined ? { kind: 'none' } : { kind: 'object', value: found.value })
        },
        onFailure: (failure) => {
          this.#options.onFailure(failure)
          // A node that may no longer read the object keeps the external load balancer that it knows.
          if (failure.status !== 404 && this.#apiInt !== undefined) return
          const news = failedIntent(failure)
          if (news !== undefined) this.#intent.news(news)
        },
      },
      signal,
    )
  }
}
