/**
 * Connects all parts of the agent for HostedNetServices: one watch of the object, the holders of the addresses, and the
 * administrator's wishes. This file decides which failures of the API have a meaning. A failed request does not
 * withdraw a wish.
 */

import { parseAddress } from '../../../wire/address.ts'
import type { ClusterNode } from '../../decisions/cluster-node.ts'
import type { Elsewhere } from '../../decisions/engine/platform.ts'
import type { ServiceVip } from '../../decisions/status/holders.ts'
import type { Intent, IntentNews, Toggle } from '../../decisions/status/intent.ts'
import { GROUP, PLURAL, SINGLETON, VERSION } from '../../decisions/status/published-status.ts'
import { type ApiFailure, type FailureKind, withoutQuery } from '../api/api-failure.ts'
import type { ClusterClient } from '../api/cluster-client.ts'
import { watchObjects } from '../api/object-watch.ts'
import { askReadyz, PROBE, type ProbeOptions, VipProbe } from '../api/vip-probe.ts'
import { HolderDuty, type HolderDutyOptions } from './holder-duty.ts'
import { IntentDuty, type IntentDutyOptions } from './intent-duty.ts'
import { StatusApi, sendBy } from './status-api.ts'

export type StatusDutyOptions = {
  readonly self: string
  readonly vips: readonly ServiceVip[]
  /** Path of the engine's control socket. */
  readonly socket: string
  readonly client: Pick<ClusterClient, 'ask' | 'stream'>
  readonly probe?: ProbeOptions
  /** Called with the wishes in the object after its first reading and after each change. */
  readonly onIntent: (intent: Intent) => void
  /** Value of ingressHa that the API reported last, in an earlier run of the agent. */
  readonly remembered?: Toggle | undefined
  readonly onNews: HolderDutyOptions['onNews']
  readonly dns?: IntentDutyOptions['dns']
  readonly onFailure: (failure: ApiFailure) => void
}

const OBJECTS = `/apis/${GROUP}/${VERSION}/${PLURAL}`
/** Failures of the API that an administrator must fix. A 5xx status passes, and is counted. */
const ANSWERS: ReadonlySet<FailureKind> = new Set(['unauthorized', 'forbidden', 'refused', 'garbage'])

/**
 * HTTP statuses by which the API says that HostedNetServices does not exist or is not readable. The agent then uses the
 * defaults, unless it has read the wishes of the administrator before.
 */
const NO_WISH: ReadonlySet<number | undefined> = new Set([401, 403, 404])

/** Returns what a failed request means for the administrator's wishes; `undefined` if it means nothing. */
export const failedIntent = ({ kind, message, status }: ApiFailure): IntentNews | undefined =>
  ANSWERS.has(kind) ? { kind: 'failed', why: withoutQuery(message), isNoWish: NO_WISH.has(status) } : undefined

export class StatusDuty {
  readonly holder: HolderDuty
  readonly intent: IntentDuty
  readonly #options: StatusDutyOptions
  readonly #probe: VipProbe
  readonly #ending = new AbortController()

  constructor(options: StatusDutyOptions) {
    this.#options = options
    const { client, dns, onIntent, onNews, probe = PROBE, remembered, self, socket, vips } = options
    const of = (service: ServiceVip['service']) =>
      vips.filter((vip) => vip.service === service).map((vip) => vip.address)
    this.#probe = new VipProbe(of('api'), probe, () => this.holder.circumstancesChanged())
    this.intent = new IntentDuty({
      ...{ apiVips: of('api'), ingressVips: of('ingress'), onIntent, remembered, dns },
      ask: (address) => askReadyz(address, probe),
    })
    this.holder = new HolderDuty({
      ...{ self, vips, socket, api: new StatusApi(sendBy(client)), onNews },
      circumstances: () => this.intent.circumstances(this.#probe.finding),
      onProbeNeeded: (isNeeded) => {
        this.#probe.want(isNeeded)
        this.intent.want(isNeeded)
      },
    })
    void this.#watch()
  }

  end(): void {
    this.#ending.abort()
    this.#probe.end()
    this.intent.end()
    this.holder.end()
  }

  nodesAre(nodes: readonly ClusterNode[]): void {
    this.holder.nodesAre(nodes)
    const addresses = nodes.flatMap((node) => node.addresses.map(({ address }) => parseAddress(address)))
    this.intent.nodesAre(addresses.filter((address) => address !== undefined))
  }

  /** Sets the reason why the nodes hold no VIP; `undefined` if they hold the VIPs. */
  elsewhereIs(elsewhere: Elsewhere | undefined): void {
    this.holder.elsewhereIs(elsewhere)
  }

  #watch(): Promise<void> {
    return watchObjects<{ readonly value: unknown }>(
      this.#options.client,
      {
        ...{ path: OBJECTS, query: { fieldSelector: `metadata.name=${SINGLETON}` } },
        read: (value) => ({ value }),
        onObjects: (objects) => {
          const found = [...objects.values()][0]
          if (found === undefined) {
            this.intent.news({ kind: 'none' })
            return this.holder.objectIsGone()
          }
          this.intent.news({ kind: 'object', value: found.value })
          this.holder.objectIs(found.value)
        },
        onPhase: (phase) => {
          if (phase === 'watching') this.intent.news({ kind: 'readable' })
        },
        onFailure: (failure) => {
          const news = failedIntent(failure)
          if (news !== undefined) this.intent.news(news)
          this.#options.onFailure(failure)
        },
      },
      this.#ending.signal,
    )
  }
}
