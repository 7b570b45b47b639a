/**
 * Gives dnsmasq on this node CoreDNS as server of the cluster's domain while CoreDNS is healthy, and the address of
 * `api-int` in every case. This file decides when dnsmasq is called. Calls of one turn follow each other.
 */
import { messageOf } from '../../../base/message-of.ts'
import { type AgentLogging, repeated } from '../../../log/agent-events.ts'
import { DNS_LOG } from '../../../log/dns-events.ts'
import type { Address } from '../../../wire/address.ts'
import { dnsmasqOrder, domainServer, hostsText } from '../../decisions/dns/dnsmasq.ts'
import { replaceFile } from '../fact-file.ts'
import { textIn } from '../machine.ts'
import type { DnsAccount } from './dns-account.ts'
import type { DnsmasqClient } from './dnsmasq-client.ts'

export type DnsmasqOptions = {
  readonly client: DnsmasqClient
  /** File of hosts that dnsmasq reads (its option addn-hosts). */
  readonly hosts: string
  readonly domain: string
  readonly log: AgentLogging
  readonly account: DnsAccount
}

export class DnsmasqDuty {
  readonly #options: DnsmasqOptions
  #registered: string | undefined
  #port = 0
  #problem = ''
  /** True if dnsmasq has not read the present file of hosts yet. */
  #isHostsNew = false

  constructor(options: DnsmasqOptions) {
    this.#options = options
  }

  /** Compares what dnsmasq has with what it should have. `port`: the port of CoreDNS. */
  async turn(isHealthy: boolean, port: number, apiInt: readonly Address[]): Promise<void> {
    const { account, client, domain, log } = this.#options
    this.#putHosts(apiInt)
    const found = await client.owner()
    if ('failed' in found) return this.#wrong(`Cannot reach the message bus: ${found.failed}`)
    const { owner } = found
    if (owner === undefined) {
      this.#registered = undefined
      account.isRegistered = false
      return this.#wrong('dnsmasq is not on the message bus')
    }
    if (this.#isHostsNew) {
      const failed = await client.clearCache()
      if (failed !== undefined) return this.#wrong(`Cannot make dnsmasq read ${this.#options.hosts}: ${failed}`)
      this.#isHostsNew = false
    }
    if (port !== this.#port) this.#registered = undefined
    this.#port = port
    const order = dnsmasqOrder(this.#registered, { owner, isHealthy })
    if (order === 'takeBack') return this.takeBack()
    if (order === 'register') {
      const server = domainServer(domain, port)
      const failed = await client.setDomainServers([server])
      if (failed !== undefined) return this.#wrong(`Cannot give dnsmasq the server ${server}: ${failed}`)
      this.#registered = owner
      log(DNS_LOG.dnsmasqRegistered, 'dnsmasq forwards the names of the cluster to CoreDNS', { server })
    }
    account.isRegistered = this.#registered !== undefined
    this.#problem = ''
  }

  /** Makes dnsmasq forget CoreDNS, if it has CoreDNS as server. */
  async takeBack(): Promise<void> {
    if (this.#registered === undefined) return
    const failed = await this.#options.client.setDomainServers([])
    if (failed !== undefined) return this.#wrong(`Cannot take back the server of dnsmasq: ${failed}`)
    this.#registered = undefined
    this.#options.account.isRegistered = false
    this.#options.log(DNS_LOG.dnsmasqTakenBack, 'dnsmasq no longer forwards the names of the cluster to CoreDNS')
  }

  #putHosts(addresses: readonly Address[]): void {
    const { domain, hosts } = this.#options
    const text = hostsText(addresses, domain)
    if (textIn(hosts) === text) return
    try {
      replaceFile(hosts, text)
      this.#isHostsNew = true
    } catch (error) {
      this.#wrong(`Cannot write ${hosts}: ${messageOf(error)}`)
    }
  }

  #wrong(problem: string): void {
    const { log } = this.#options
    log(problem === this.#problem ? repeated(DNS_LOG.dnsmasqNotReached) : DNS_LOG.dnsmasqNotReached, problem)
    this.#problem = problem
  }
}
