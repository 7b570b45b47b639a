/**
 * Keeps the redirect of the API's VIPs to HAProxy as the monitor wants it: rules in the kernel, or none. A single
 * change of the rules runs at a time, and a failed change is tried again. This file decides when the rules are read
 * again. This file does not know why the rules are wanted.
 */

import {
  confirmScript,
  installScript,
  type RedirectPlan,
  removeScript,
  tidyScript,
} from '../../decisions/haproxy/redirect-script.ts'
import { NO_TABLE, type RedirectTable, readRedirectTable, tableOf } from '../../decisions/haproxy/redirect-table.ts'
import { REDIRECT_TABLE } from '../../decisions/status/load-balancer-rule.ts'
import { ask, nodeProgram, type ProgramResult } from '../program.ts'

const TIMEOUT = 5_000
const AGAIN = 250

export type RedirectNews =
  | { readonly kind: 'installed'; readonly family: string }
  | { readonly kind: 'removed'; readonly family: string }
  /** The table has content of other programs (`foreign`). */
  | { readonly kind: 'foreign'; readonly family: string; readonly reason: string }
  | { readonly kind: 'failed'; readonly family: string; readonly reason: string }

export type RedirectKeeperOptions = {
  readonly plan: RedirectPlan
  /** Command line with which nft is run; absent: the nft of this node. */
  readonly nft?: readonly string[]
  readonly onNews: (news: RedirectNews) => void
}

export class RedirectKeeper {
  readonly #plan: RedirectPlan
  readonly #nft: readonly string[]
  readonly #onNews: (news: RedirectNews) => void
  /** Table as it was after the last change; `undefined`: it must be read before a change. */
  #table: RedirectTable | undefined
  #wanted = false
  #last: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #told = ''

  constructor({ plan, nft = nodeProgram('nft'), onNews }: RedirectKeeperOptions) {
    this.#plan = plan
    this.#nft = nft
    this.#onNews = onNews
  }

  /** Tells whether the rules are in the kernel, as far as the last change tells. */
  get areInstalled(): boolean {
    return (this.#table?.rules.length ?? 0) > 0
  }

  /** Tells whether a monitor that ended without removing its rules has left some. */
  async areLeft(): Promise<boolean> {
    await this.#inTurn(async () => {
      this.#table = await this.#read()
    })
    return this.areInstalled
  }

  /** Replaces the rules that are left by those of the plan, in one transaction. */
  async adopt(): Promise<void> {
    this.#wanted = true
    this.#table = undefined
    await this.refresh()
  }

  /** Adds or removes the rules. Returns when the kernel has the change, or when the first attempt has failed. */
  async want(wanted: boolean): Promise<void> {
    this.#wanted = wanted
    clearTimeout(this.#timer)
    await this.#inTurn(() => this.#reach())
  }

  /** Reads the rules, adds missing ones, and confirms them for another lifetime. */
  async refresh(): Promise<void> {
    await this.#inTurn(async () => {
      const before = this.#table
      this.#table = await this.#read()
      if (this.#table === undefined || !this.#wanted) return this.#reach()
      const isSame = JSON.stringify(before?.rules) === JSON.stringify(this.#table.rules)
      const script = confirmScript(this.#plan)
      if (!isSame || !this.areInstalled) return this.#install(this.#table)
      if (script === '' || !('failed' in (await this.#run(script)))) return
      return this.#install(this.#table)
    })
  }

  /** Removes the rules, then the chains and the table if nothing of other programs is in them. */
  async end(): Promise<void> {
    await this.want(false)
    clearTimeout(this.#timer)
    const table = await this.#read()
    const script = table === undefined ? '' : tidyScript(this.#plan.family, table)
    if (script !== '') await this.#run(script)
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#last.then(work)
    this.#last = next.catch(() => {})
    return next
  }

  async #reach(): Promise<void> {
    const table = this.#table ?? (await this.#read())
    if (table === undefined) return this.#tryAgain()
    this.#table = table
    if (this.#wanted) {
      if (!this.areInstalled) await this.#install(table)
    } else if (this.areInstalled) await this.#remove(table)
  }

  async #install(table: RedirectTable): Promise<void> {
    const { family } = this.#plan
    if (table.unusable.length > 0)
      return this.#failed('foreign', `chain ${table.unusable.join(', ')} has another hook than a monitor's`)
    const done = await this.#run(installScript(this.#plan, table))
    if ('failed' in done) return this.#failed('failed', done.failed)
    this.#table = await this.#read()
    this.#told = ''
    this.#onNews({ kind: 'installed', family })
    if (table.others.length > 0)
      this.#onNews({ kind: 'foreign', family, reason: `other content stays: ${table.others.join(', ')}` })
  }

  async #remove(table: RedirectTable): Promise<void> {
    const { family } = this.#plan
    const done = await this.#run(removeScript(family, table))
    if ('failed' in done) return this.#failed('failed', done.failed)
    this.#table = { ...table, rules: [] }
    this.#told = ''
    this.#onNews({ kind: 'removed', family })
  }

  #failed(kind: 'foreign' | 'failed', reason: string): void {
    this.#table = undefined
    if (reason !== this.#told) this.#onNews({ kind, family: this.#plan.family, reason })
    this.#told = reason
    this.#tryAgain()
  }

  #tryAgain(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#inTurn(() => this.#reach()), AGAIN)
  }

  async #read(): Promise<RedirectTable | undefined> {
    const { family } = this.#plan
    const listed = await ask([...this.#nft, '-j', 'list', 'table', family, REDIRECT_TABLE], TIMEOUT)
    if ('failed' in listed) {
      if (/No such file or directory\s+list table/.test(listed.stderr)) return NO_TABLE
      this.#failed('failed', listed.failed)
      return undefined
    }
    const table = readRedirectTable(listed.stdout)
    if (table === undefined) this.#failed('failed', `nft does not list table ${tableOf(family)} as JSON`)
    return table
  }

  #run(script: string): Promise<ProgramResult> {
    return ask([...this.#nft, script], TIMEOUT)
  }
}
