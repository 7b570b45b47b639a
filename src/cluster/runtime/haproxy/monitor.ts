/**
 * HAProxy's monitor on a control plane node: keeps haproxy.cfg in step with the cluster, and sends the API's VIPs to
 * HAProxy while HAProxy is usable. At other times VIPs lead to the API server of the node itself. No failure ends the
 * process.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AGENT_LOG } from '../../../log/agent-events.ts'
import { familyOf } from '../../../wire/address.ts'
import { type Health, healthAfter } from '../../decisions/haproxy/health.ts'
import { type MonitorSettings, STOPPING_FILE } from '../../decisions/haproxy/monitor-settings.ts'
import type { TableFamily } from '../../decisions/haproxy/redirect-table.ts'
import type { NodeEvent } from '../../decisions/known-nodes.ts'
import { BackendDuty, type BackendDutyPorts } from './backend-duty.ts'
import { type HealthAnswer, watchHealth } from './health-watch.ts'
import { PortWatch } from './port-watch.ts'
import { RedirectKeeper, type RedirectNews } from './redirect-keeper.ts'
import { ReloadClient } from './reload-client.ts'

export type MonitorPorts = Omit<BackendDutyPorts, 'reload'> & {
  /** Command line with which nft is run; absent: the nft of this node. */
  readonly nft?: readonly string[]
}

export class Monitor {
  readonly #settings: MonitorSettings
  readonly #ports: MonitorPorts
  readonly #rules: readonly RedirectKeeper[]
  readonly #reloads: ReloadClient
  readonly #backends: BackendDuty
  readonly #ownPorts: PortWatch
  #health: Health = { isUsable: false, against: 0 }
  #isReloadTold = false

  constructor(settings: MonitorSettings, ports: MonitorPorts) {
    this.#settings = settings
    this.#ports = ports
    this.#rules = rulesFor(settings, ports, (news) => this.#tellRules(news))
    this.#reloads = new ReloadClient(settings.socket, (problem) => this.#tellReload(problem))
    this.#backends = new BackendDuty(settings, { ...ports, reload: () => this.#reloads.reload() })
    this.#ownPorts = new PortWatch(settings.file, (holders) => this.#tellTaken(holders))
  }

  take(event: NodeEvent): void {
    this.#backends.take(event)
  }

  /** Runs the monitor until `signal` is aborted, and removes the rules then. */
  async run(signal: AbortSignal): Promise<void> {
    const { profile, checkInterval, socket } = this.#settings
    const stopping = join(dirname(socket), STOPPING_FILE)
    await this.#start()
    await Promise.all([
      watchHealth(
        {
          every: profile.every ?? checkInterval,
          timeout: profile.timeout,
          followsEnd: profile.followsEnd,
          objection: () => (existsSync(stopping) ? `HAProxy is about to stop (${stopping})` : undefined),
          onAnswer: (answer) => this.#heard(answer),
        },
        signal,
      ),
      every(checkInterval, () => this.#backends.compare(), signal),
      every(profile.refreshEvery ?? checkInterval, () => this.#refresh(), signal),
      once(signal, () => this.#end()),
    ])
    this.#reloads.close()
  }

  async #start(): Promise<void> {
    const left = await Promise.all(this.#rules.map((rules) => rules.areLeft()))
    if (this.#settings.profile.adoptsRules && left.every((each) => each)) {
      this.#health = { isUsable: true, against: 0 }
      this.#ports.account.isUsable = true
      await Promise.all(this.#rules.map((rules) => rules.adopt()))
    } else await this.#want(false)
  }

  #heard({ isGood, what }: HealthAnswer): void {
    const { account, log } = this.#ports
    const before = this.#health.isUsable
    this.#health = healthAfter(this.#health, isGood, this.#settings.profile.thresholds)
    const { isUsable } = this.#health
    account.isUsable = isUsable
    this.#ownPorts.heard(isGood, this.#ports.now())
    if (isUsable === before) return
    // The rules come first, because clients wait for them.
    void this.#want(isUsable)
    if (isUsable) log(AGENT_LOG.haproxyUsable, 'HAProxy is usable', { answer: what })
    else {
      account.losses++
      log(AGENT_LOG.haproxyUnusable, `HAProxy is not usable: ${what}`, { answer: what })
    }
  }

  async #refresh(): Promise<void> {
    if (this.#health.isUsable) await Promise.all(this.#rules.map((rules) => rules.refresh()))
  }

  async #want(wanted: boolean): Promise<void> {
    await Promise.all(this.#rules.map((rules) => rules.want(wanted)))
  }

  async #end(): Promise<void> {
    await Promise.all(this.#rules.map((rules) => rules.end()))
  }

  #tellTaken(holders: string): void {
    const { account, log } = this.#ports
    const consequence = account.isUsable ? '' : '; VIPs lead to the API server of this node'
    const text = `HAProxy does not answer, and another program has its port: ${holders}${consequence}`
    log(AGENT_LOG.haproxyPortTaken, text, { holders })
  }

  #tellRules(news: RedirectNews): void {
    const { account, log } = this.#ports
    const { family } = news
    if (news.kind === 'installed' || news.kind === 'removed') {
      account.redirects.set(family, news.kind === 'installed')
      log(
        AGENT_LOG.redirectChanged,
        `nftables rules that send the API VIPs to HAProxy are ${news.kind} (table ${family} ocp_nat)`,
        { change: news.kind, family },
      )
    } else if (news.kind === 'foreign')
      log(AGENT_LOG.redirectForeign, `table ${family} ocp_nat: ${news.reason}`, { family, reason: news.reason })
    else {
      account.failures++
      log(
        AGENT_LOG.redirectFailed,
        `cannot change the nftables rules that send the API VIPs to HAProxy (table ${family} ocp_nat): ${news.reason}`,
        {
          ...{ family, reason: news.reason },
        },
      )
    }
  }

  #tellReload(problem: string | undefined): void {
    const { account, log } = this.#ports
    if (problem === undefined) {
      account.reloads++
      log(AGENT_LOG.haproxyReloaded, 'HAProxy reads its configuration again')
    } else if (!this.#isReloadTold)
      log(AGENT_LOG.haproxyNotReloaded, `cannot send reload to HAProxy: ${problem}`, { reason: problem })
    this.#isReloadTold = problem !== undefined
  }
}

const FAMILIES: readonly TableFamily[] = ['ip', 'ip6']

function rulesFor(
  { vips, apiPort, lbPort, profile }: MonitorSettings,
  { nft }: MonitorPorts,
  onNews: (news: RedirectNews) => void,
): readonly RedirectKeeper[] {
  return FAMILIES.flatMap((family) => {
    const own = vips.filter((vip) => (familyOf(vip) === 'ipv4') === (family === 'ip'))
    const plan = { family, vips: own, apiPort, lbPort, lifetime: profile.lifetime }
    return own.length === 0 ? [] : [new RedirectKeeper({ plan, onNews, ...(nft === undefined ? {} : { nft }) })]
  })
}

async function every(ms: number, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await work()
    await sleep(ms, undefined, { signal }).catch(() => {})
  }
}

/** Runs the work when `signal` is aborted. */
function once(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const start = () => work().then(resolve, reject)
    if (signal.aborted) start()
    else signal.addEventListener('abort', start, { once: true })
  })
}
