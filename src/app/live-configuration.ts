/**
 * The configuration in force and its way to another one: one reload at a time, whoever asks for it, and an account of
 * the last one for log, status and metrics. Decided here: that a reload which does not work out changes nothing, and
 * who is told. Refuses to know how a file is read (worker) and what a difference means (daemon).
 */

import type { Config } from '../config/config.ts'
import { type ConfigDiff, diffConfig } from '../config/diff.ts'
import { formatProblem, isError } from '../config/problem.ts'
import { changesText, groupsText, ownTexts, type ValueChange } from '../config/value-diff.ts'
import { type Bearer, bearerWords, type ReloadReport } from '../daemon/reload.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { ConfigProblem, ConfigSnapshot, ImportedSnapshot } from '../daemon/telemetry/snapshot.ts'
import type { FreshConfig } from '../files/fresh-configuration.ts'
import type { ManagedFile } from '../files/managed-file.ts'
import { HANDED_OVER, type HandedOver, HandOverAccount, type HandOverAnswer, whoHandsOver } from './hand-over.ts'

/** In the status and in the log; the answer to `holdfast reload` has all. */
const MOST_TOLD = 20
/** Each is read for up to ten seconds, and may be large. */
const MOST_HANDED_OVER = 8

export type ReloadAnswer = { readonly file: string } & (
  | (Extract<ReloadReport, { ok: true }> & {
      readonly hash: string
      readonly warnings: readonly ConfigProblem[]
      /** The keys that differ, with their values. */
      readonly values: readonly ValueChange[]
      /** Nothing was put in force. */
      readonly dryRun?: true
      /** How long the engine did nothing else. */
      readonly pausedMs: number
    })
  /** `invalid`: the file is wrong, and `problems` says where; `failed`: everything else. */
  | {
      readonly ok: false
      readonly fault: 'invalid' | 'failed'
      readonly reason: string
      readonly problems: readonly ConfigProblem[]
    }
)

export type LiveConfigurationPorts = {
  readonly recorder: Recorder
  /** `text`: in the place of what is in the file. Rejects with Error when it got no answer. */
  readonly read: (file: string, text?: string) => Promise<FreshConfig>
  readonly apply: (next: Config, diff: ConfigDiff, bearer?: Bearer) => ReloadReport
  /** What apply() would do. */
  readonly plan: (next: Config, diff: ConfigDiff) => ReloadReport
  readonly inForce: () => Config
}

type Source = {
  readonly file: string
  readonly hash: string
  readonly imported?: ImportedSnapshot | undefined
  /** It begins with nothing in force. */
  readonly stopped?: boolean
  /** Of an engine to which its configuration is handed; `waits`: why nothing is in force. */
  readonly managed?: { readonly memory: ManagedFile; readonly waits: string | null } | undefined
}

export class LiveConfiguration {
  readonly #ports: LiveConfigurationPorts
  readonly #file: string
  #hash: string
  #loadedAt = new Date()
  readonly #reloads = { ok: 0, failed: 0 }
  #last: ConfigSnapshot['lastReload'] = null
  readonly #managed: { readonly memory: ManagedFile; readonly account: HandOverAccount } | undefined
  #handedOver = 0
  #imported: ImportedSnapshot | null
  #stoppedAt: string | null
  #running: Promise<unknown> = Promise.resolve()
  /** Asked for and not begun. */
  #next: Promise<ReloadAnswer> | undefined

  constructor({ file, hash, imported, stopped = false, managed }: Source, ports: LiveConfigurationPorts) {
    this.#managed = managed && { memory: managed.memory, account: new HandOverAccount(managed.memory, managed.waits) }
    this.#file = file
    this.#imported = counts(imported)
    this.#stoppedAt = stopped ? new Date().toISOString() : null
    this.#hash = hash
    this.#ports = ports
  }

  snapshot(): ConfigSnapshot {
    return {
      file: this.#file,
      // Nothing was read yet.
      hash: this.#hash === '' ? null : this.#hash,
      loadedAt: this.#loadedAt.toISOString(),
      reloads: { ...this.#reloads },
      lastReload: this.#last,
      imported: this.#imported,
      stoppedAt: this.#stoppedAt,
      managed: this.#managed?.account.snapshot() ?? null,
    }
  }

  /** Never rejects. Whoever asks while a reload waits for its turn joins it: both would read the same file. */
  reload(trigger: string): Promise<ReloadAnswer> {
    this.#ports.recorder.log('info', `${trigger}: reading ${this.#file} again`, { trigger })
    this.#next ??= this.#enqueue()
    return this.#next
  }

  /** Never rejects. What a reload would do now; nothing is changed, counted or remembered. */
  async rehearse(): Promise<ReloadAnswer> {
    const file = this.#file
    const failed = (fault: 'invalid' | 'failed', reason: string, problems: readonly ConfigProblem[]): ReloadAnswer => ({
      ...{ ok: false, file, fault, reason, problems },
    })
    let fresh: FreshConfig
    try {
      fresh = await this.#ports.read(file)
    } catch (error) {
      return failed('failed', error instanceof Error ? error.message : String(error), [])
    }
    if (!fresh.ok) return failed('invalid', problemCount(fresh.problems), fresh.problems)
    const { config, diff, hash, warnings } = fresh
    const report = this.#ports.plan(config, diff)
    if (!report.ok) return failed('failed', report.reason, [])
    return { ...report, file, hash, warnings, values: diff.values, pausedMs: 0, dryRun: true }
  }

  /**
   * Never rejects. In the turn in which it came, because each may be another one. The answer waits for the disk, the next
   * turn does not.
   */
  async handOver(handed: HandedOver): Promise<HandOverAnswer> {
    const managed = this.#managed
    if (managed === undefined || this.#handedOver >= MOST_HANDED_OVER) {
      const reason = managed === undefined ? 'this engine has a file' : `${MOST_HANDED_OVER} others wait already`
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
    return { ...answer, kept: answer.ok && notKept === undefined, ...(notKept === undefined ? {} : { notKept }) }
  }

  /** Nothing of the file is in force until the next reload: every router leaves. Never rejects. */
  standDown(trigger: string): Promise<void> {
    const turn = this.#running.then(() => {
      const before = this.#ports.inForce()
      const next = idle(before)
      const report = this.#ports.apply(next, diffConfig(before, next))
      if (!report.ok) return this.#ports.recorder.log('error', `${trigger}: ${report.reason}`, { trigger })
      this.#stoppedAt = new Date().toISOString()
      this.#ports.recorder.log('info', `${trigger}: no virtual router runs until the next reload`, { trigger })
    })
    this.#running = turn
    return turn
  }

  /** What is being kept is, or for so many milliseconds was not. */
  async flush(within: number): Promise<void> {
    await this.#managed?.memory.settled(within)
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
    // Otherwise it would go back to what was in force before.
    const notKept = await this.#managed?.memory.settled()
    if (notKept !== undefined) return this.#fail('failed', `it has not what is in force: ${notKept}`, [])
    const answer = await this.#bring()
    if (answer.ok) this.#managed?.account.remembered()
    return answer
  }

  /** What was handed over, or what is in the file. */
  async #bring(handed?: HandedOver): Promise<ReloadAnswer> {
    let fresh: FreshConfig
    try {
      fresh = await this.#ports.read(handed === undefined ? this.#file : HANDED_OVER, handed?.text)
    } catch (error) {
      return this.#fail('failed', error instanceof Error ? error.message : String(error), [], handed)
    }
    if (!fresh.ok) return this.#fail('invalid', problemCount(fresh.problems), fresh.problems, handed)
    const { config, diff, hash, imported, warnings } = fresh
    const before = performance.now()
    const bearer = handed && { by: handed.by, revision: handed.revision, again: hash === this.#hash }
    const report = this.#ports.apply(config, diff, bearer)
    const pausedMs = Math.round((performance.now() - before) * 10) / 10
    if (!report.ok) return this.#fail('failed', report.reason, [], handed)
    this.#imported = counts(imported)
    const file = handed === undefined ? this.#file : HANDED_OVER
    return this.#succeed({ file, hash, warnings, values: diff.values, pausedMs, ...report }, handed)
  }

  #succeed(answer: Extract<ReloadAnswer, { ok: true }>, handed: HandedOver | undefined): ReloadAnswer {
    const { recorder } = this.#ports
    const { file, hash, warnings, pausedMs, changes, unchanged, checksChanged, restartOnly, values } = answer
    this.#hash = hash
    this.#loadedAt = new Date()
    this.#stoppedAt = null
    if (handed === undefined) this.#reloads.ok++
    this.#last = { at: this.#loadedAt.toISOString(), ok: true, reason: null, problems: warnings.slice(0, MOST_TOLD) }
    const done = changes.map(
      ({ router, change }) => `${router} ${change}${changesText(values, 'virtualRouters', router)}`,
    )
    if (answer.groupsChanged) done.push(`sync groups changed${groupsText(values)}`)
    const checks = checksChanged.map((name) => `${name}${changesText(values, 'healthchecks', name)}`)
    if (checks.length > 0) done.push(`health checks ${checks.join(' and ')} changed`)
    done.push(...ownTexts(values, restartOnly))
    const what = handed === undefined ? `Reloaded ${file}` : `Configured by ${whoHandsOver(handed)}`
    recorder.log('info', `${what}: ${[...done, `${unchanged} unchanged`].join(', ')}`, {
      hash,
      pausedMs,
      changes,
      checksChanged,
    })
    for (const problem of warnings.slice(0, MOST_TOLD)) recorder.log('warn', formatProblem(problem))
    for (const key of restartOnly)
      recorder.log('warn', `${key} has changed: it takes effect at the next start`, { key })
    return answer
  }

  #fail(
    fault: 'invalid' | 'failed',
    reason: string,
    problems: readonly ConfigProblem[],
    handed?: HandedOver,
  ): ReloadAnswer {
    const { recorder } = this.#ports
    const told = [...problems.filter(isError), ...problems.filter((problem) => !isError(problem))].slice(0, MOST_TOLD)
    const file = handed === undefined ? this.#file : HANDED_OVER
    if (handed === undefined) this.#reloads.failed++
    const whose = handed === undefined ? '' : `${whoHandsOver(handed)}: `
    this.#last = { at: new Date().toISOString(), ok: false, reason: `${whose}${reason}`, problems: told }
    const what = handed === undefined ? `reload ${file}` : `take the configuration of ${whoHandsOver(handed)}`
    recorder.log('error', `Cannot ${what}: ${reason}; the configuration in force is kept`, { file, fault })
    const bearer = handed && bearerWords({ ...handed, again: false })
    recorder.chronicle.record({ kind: 'reloaded', ok: false, reason: `${fault}: ${reason}`, ...bearer })
    for (const problem of told) recorder.log(isError(problem) ? 'error' : 'warn', formatProblem(problem))
    if (problems.length > told.length)
      recorder.log('error', `${problems.length - told.length} more: holdfast check ${file} tells all`)
    return { ok: false, file, fault, reason, problems }
  }
}

function problemCount(problems: readonly ConfigProblem[]): string {
  const count = problems.filter(isError).length
  return count === 1 ? 'one problem' : `${count} problems`
}

/** The same daemon without anything to do. */
export const idle = (config: Config): Config => ({ ...config, virtualRouters: [], syncGroups: [], healthchecks: [] })

/** Without what each keyword has become: holdfast convert tells. */
function counts(imported: ImportedSnapshot | undefined): ImportedSnapshot | null {
  if (imported === undefined) return null
  const { carried, withoutEffect, notSupported, refused, unknown } = imported
  return { carried, withoutEffect, notSupported, refused, unknown }
}
