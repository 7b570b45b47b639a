/**
 * Keeps the Corefile of this node up to date. This file decides when the Corefile is compared with its sources, and
 * that it is replaced as a whole, and only if its text changes. The text is decided in decisions/dns/corefile.ts.
 */
import { chmodSync, statSync } from 'node:fs'
import { messageOf } from '../../../base/message-of.ts'
import { type AgentLogging, repeated } from '../../../log/agent-events.ts'
import { DNS_LOG } from '../../../log/dns-events.ts'
import { atOtherLevel } from '../../../log/log-event.ts'
import type { Address } from '../../../wire/address.ts'
import { type CorefileDecision, type DnsCluster, decideCorefile } from '../../decisions/dns/corefile.ts'
import type { DnsWishes } from '../../decisions/dns/corefile-wishes.ts'
import type { DnsReport } from '../../decisions/dns/dns-report.ts'
import type { StoredNode } from '../../decisions/stored-nodes.ts'
import { replaceFile } from '../fact-file.ts'
import { textIn } from '../machine.ts'
import type { DnsAccount } from './dns-account.ts'
import { upstreamText } from './upstream-file.ts'

export type CorefileOptions = {
  readonly cluster: DnsCluster
  readonly template: string
  readonly corefile: string
  readonly resolvConf: string
  readonly shortHostname: string
  /** Returns the addresses of this node, or the reason why they are not known. */
  readonly addresses: () => NodeAddresses | string
  readonly log: AgentLogging
  readonly account: DnsAccount
}

/** Addresses of a node. `self`: the address in the LAN of the VIPs; `undefined` if the node has none. */
export type NodeAddresses = { readonly self: Address | undefined; readonly own: readonly Address[] }

export class CorefileDuty {
  readonly #options: CorefileOptions
  readonly #noted = new Set<string>()
  #reason = ''
  #problem = ''
  #report: DnsReport = { wishes: undefined, kept: undefined }
  nodes: readonly StoredNode[] | undefined
  wishes: DnsWishes | undefined

  constructor(options: CorefileOptions) {
    this.#options = options
  }

  get report(): DnsReport {
    return this.#report
  }

  /** Compares the Corefile with its sources, and replaces it if it differs. Returns false if no Corefile can be made. */
  turn({ mayLackNodes = false } = {}): boolean {
    const { account, cluster, resolvConf, shortHostname, template: path } = this.#options
    const template = textIn(path)
    if (template === undefined) return this.#keep(`the template ${path} cannot be read`)
    const addresses = this.#options.addresses()
    if (typeof addresses === 'string') return this.#keep(addresses)
    const decision = decideCorefile(
      {
        ...{ cluster, template, shortHostname, ...addresses, nodes: this.nodes, wishes: this.wishes },
        resolvConf: upstreamText(resolvConf),
      },
      { mayLackNodes },
    )
    for (const note of decision.notes) this.#note(note)
    if ('kept' in decision.file) return this.#keep(decision.file.kept, decision.isWaiting)
    account.isKept = false
    account.records = decision.records.length
    account.upstreams = decision.upstreams.length
    this.#reason = ''
    const isWritten = this.#write(decision.file.text, decision)
    this.#report = isWritten ? { wishes: this.wishes, kept: undefined } : { ...this.#report, kept: this.#problem }
    return isWritten
  }

  #write(text: string, { records, upstreams }: CorefileDecision): boolean {
    const { account, corefile: file, log, template } = this.#options
    if (textIn(file) === text) return true
    try {
      replaceFile(file, text)
      // As runtimecfg, the Corefile has the permissions of the template.
      chmodSync(file, statSync(template).mode & 0o7777)
    } catch (error) {
      account.writes.failed++
      const problem = `Cannot write ${file}: ${messageOf(error)}`
      log(problem === this.#problem ? repeated(DNS_LOG.corefileNotWritten) : DNS_LOG.corefileNotWritten, problem, {
        file,
      })
      this.#problem = problem
      return false
    }
    account.writes.written++
    this.#problem = ''
    const fields = { file, nodes: records.length, upstreams, apiInt: this.wishes?.apiInt }
    log(DNS_LOG.corefileWritten, 'Corefile written', fields)
    return true
  }

  #keep(reason: string, isWaiting = false): false {
    const { account, log } = this.#options
    account.isKept = true
    this.#report = { ...this.#report, kept: isWaiting ? undefined : reason }
    const isRepeated = reason === this.#reason
    log(
      isRepeated ? repeated(DNS_LOG.corefileKept) : atOtherLevel(DNS_LOG.corefileKept, isWaiting),
      `cannot make a new Corefile, the old one stays in force: ${reason}`,
      { reason },
    )
    this.#reason = reason
    return false
  }

  #note(note: string): void {
    this.#options.log(this.#noted.has(note) ? repeated(DNS_LOG.dnsNote) : DNS_LOG.dnsNote, note)
    this.#noted.add(note)
  }
}
