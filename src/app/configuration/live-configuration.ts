/**
 * Replaces the configuration in force: one reload at a time, whichever signal or command requests it. This file decides
 * that a failed reload changes nothing, and the order of reloads and hand-overs. The worker reads a file, the daemon
 * applies the difference, configuration-account.ts reports the result.
 */

import { defined } from '../../base/defined.ts'
import { messageOf } from '../../base/message-of.ts'
import type { Config } from '../../config/config.ts'
import { type ConfigDiff, diffConfig } from '../../config/diff.ts'
import { isError } from '../../config/problem.ts'
import type { HandOver, ReloadReport } from '../../daemon/reload.ts'
import type { ConfigProblem } from '../../daemon/telemetry/snapshot.ts'
import type { FreshConfig } from '../../files/fresh-configuration.ts'
import { type ConfigurationAccount, idle } from './configuration-account.ts'
import { HANDED_OVER, type HandedOver } from './hand-over.ts'
import type { HandOverAnswer, ReloadAnswer, ReloadFailure } from './reload-answer.ts'

/** Limit of waiting hand-overs. A waiting hand-over may be large, and reading it may take ten seconds. */
const MOST_HANDED_OVER = 8

export type LiveConfigurationPorts = {
  /** Reads a configuration. `text` replaces the contents of the file. Rejects with Error if no answer arrives. */
  readonly read: (file: string, text?: string) => Promise<FreshConfig>
  readonly apply: (next: Config, diff: ConfigDiff, handOver?: HandOver) => ReloadReport
  /** Returns the report that apply() would give for the configuration `next`. Changes nothing. */
  readonly plan: (next: Config, diff: ConfigDiff) => ReloadReport
  readonly inForce: () => Config
}

export class LiveConfiguration {
  readonly #account: ConfigurationAccount
  readonly #ports: LiveConfigurationPorts
  #handedOver = 0
  #running: Promise<unknown> = Promise.resolve()
  /** Reload that waits for the end of the running reload; `undefined` if no reload waits. */
  #next: Promise<ReloadAnswer> | undefined
  readonly #begun: Promise<void>
  #begin: () => void = () => {}
  readonly #listeners: ((inForce: Config) => void)[] = []

  constructor(account: ConfigurationAccount, ports: LiveConfigurationPorts) {
    this.#account = account
    this.#ports = ports
    this.#begun = new Promise((resolve) => {
      this.#begin = resolve
    })
  }

  /**
   * Allows reading of configuration files. A reload that was requested earlier waits: the first advertisements and the
   * control socket come first.
   */
  begin(): void {
    this.#begin()
  }

  /** Calls the listener with the configuration in force after each attempt to change it. */
  onApplied(listener: (inForce: Config) => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Reloads the configuration file. Never rejects. A request joins a reload that waits for its turn, because both would
   * read the same file.
   */
  reload(trigger: string): Promise<ReloadAnswer> {
    this.#account.requested(trigger)
    this.#next ??= this.#enqueue()
    return this.#next
  }

  /** Returns what a reload would do now. Never rejects; changes, counts and stores nothing. */
  async rehearse(): Promise<ReloadAnswer> {
    const { file } = this.#account
    const failed = (fault: ReloadFailure['fault'], reason: string, problems: readonly ConfigProblem[]) =>
      ({ ok: false, file, fault, reason, problems }) as const
    let fresh: FreshConfig
    try {
      fresh = await this.#read(file)
    } catch (error) {
      return failed('failed', messageOf(error), [])
    }
    if (!fresh.ok) return failed('invalid', problemCount(fresh.problems), fresh.problems)
    const { config, diff, hash, warnings } = fresh
    const report = this.#ports.plan(config, diff)
    if (!report.ok) return failed('failed', report.reason, [])
    return { ...report, file, hash, warnings, values: diff.values, pausedMs: 0, dryRun: true }
  }

  /**
   * Puts a configuration in force that a client sends. Never rejects. Hand-overs are processed in the order of their
   * arrival. The answer to the client waits for the disk, but the next hand-over does not.
   */
  async handOver(handed: HandedOver): Promise<HandOverAnswer> {
    const { managed } = this.#account
    if (managed === undefined || this.#handedOver >= MOST_HANDED_OVER) {
      const reason =
        managed === undefined
          ? 'this engine reads its configuration from a file'
          : `${MOST_HANDED_OVER} other hand-overs already wait`
      return { ok: false, file: HANDED_OVER, fault: 'failed', reason, problems: [], kept: false }
    }
    this.#handedOver++
    const turn = this.#running.then(async () => {
      const answer = await this.#bring(handed)
      managed.account.handed(handed, answer)
      return { answer, keeping: answer.ok ? managed.memory.keep(handed.text) : undefined }
    })
    this.#running = turn
    const { answer, keeping } = await turn
    this.#handedOver--
    const notKept = await keeping
    return { ...answer, kept: answer.ok && notKept === undefined, ...defined({ notKept }) }
  }

  /** Stops every router. After stopAll() no configuration is in force until the next reload. Never rejects. */
  standDown(trigger: string): Promise<void> {
    const turn = this.#running.then(() => {
      const before = this.#ports.inForce()
      const next = idle(before)
      const report = this.#apply(next, diffConfig(before, next))
      this.#account.stoodDown(trigger, report.ok ? undefined : report.reason)
    })
    this.#running = turn
    return turn
  }

  /** Resolves when the last hand-over is in its file, or after `within` milliseconds. */
  async flush(within: number): Promise<void> {
    await this.#account.managed?.memory.settled(within)
  }

  #enqueue(): Promise<ReloadAnswer> {
    const turn = this.#running.then(() => {
      this.#next = undefined
      return this.#reload()
    })
    this.#running = turn
    return turn
  }

  async #reload(): Promise<ReloadAnswer> {
    const { managed } = this.#account
    // Without this wait, the reload would restore the configuration before the last hand-over.
    const notKept = await managed?.memory.settled()
    if (notKept !== undefined)
      return this.#account.failed('failed', `the file does not have the configuration in force: ${notKept}`, [])
    const answer = await this.#bring()
    if (answer.ok) managed?.account.remembered()
    return answer
  }

  async #read(file: string, text?: string): Promise<FreshConfig> {
    await this.#begun
    return this.#ports.read(file, text)
  }

  #apply(next: Config, diff: ConfigDiff, handOver?: HandOver): ReloadReport {
    const report = this.#ports.apply(next, diff, handOver)
    const inForce = this.#ports.inForce()
    for (const listener of this.#listeners) listener(inForce)
    return report
  }

  /** Puts the configuration in force that was handed over, or that of the file. */
  async #bring(handed?: HandedOver): Promise<ReloadAnswer> {
    const account = this.#account
    const file = handed === undefined ? account.file : HANDED_OVER
    let fresh: FreshConfig
    try {
      fresh = await this.#read(file, handed?.text)
    } catch (error) {
      return account.failed('failed', messageOf(error), [], handed)
    }
    if (!fresh.ok) return account.failed('invalid', problemCount(fresh.problems), fresh.problems, handed)
    const { config, diff, hash, imported, warnings } = fresh
    const before = performance.now()
    const handOver = handed && { by: handed.by, revision: handed.revision, again: account.isInForce(hash) }
    const report = this.#apply(config, diff, handOver)
    const pausedMs = Math.round((performance.now() - before) * 10) / 10
    if (!report.ok) return account.failed('failed', report.reason, [], handed)
    return account.succeeded({ file, hash, warnings, values: diff.values, pausedMs, ...report }, imported, handed)
  }
}

function problemCount(problems: readonly ConfigProblem[]): string {
  const count = problems.filter(isError).length
  return count === 1 ? 'one problem' : `${count} problems`
}
