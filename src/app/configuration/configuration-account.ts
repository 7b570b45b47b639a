/**
 * Reports the configuration in force: file, hash, last reload and counts, for status, metrics, log and event journal.
 * This file decides how a successful or failed reload is reported. When a reload takes place is decided in
 * live-configuration.ts.
 */
import type { Config } from '../../config/config.ts'
import { formatProblem, isError } from '../../config/problem.ts'
import { changesText, groupsText, ownTexts } from '../../config/value-diff.ts'
import { handOverFields } from '../../daemon/reload.ts'
import type { Recorder } from '../../daemon/telemetry/recorder.ts'
import type { ConfigProblem, ConfigSnapshot, ImportedSnapshot } from '../../daemon/telemetry/snapshot.ts'
import type { ManagedFile } from '../../files/managed-file.ts'
import { LOG } from '../../log/log.ts'
import { atOtherLevel } from '../../log/log-event.ts'
import { HANDED_OVER, type HandedOver, HandOverAccount, whoHandsOver } from './hand-over.ts'
import type { ReloadAnswer, ReloadFailure } from './reload-answer.ts'

/** Number of configuration problems in the status and in the log. The answer to `holdfast reload` has all problems. */
const MOST_REPORTED = 20

/** The configuration with which the engine starts. */
export type ConfigurationSource = {
  readonly file: string
  /** Hash of the configuration text; empty if the daemon has read no configuration. */
  readonly hash: string
  readonly imported?: ImportedSnapshot | undefined
  /** True if no configuration is in force, because keepalived's command socket stopped an earlier run of the daemon. */
  readonly stopped?: boolean
  /**
   * State of a configuration that a program hands over to this engine; absent if the engine reads a file. `waits` is
   * the reason why no configuration is in force.
   */
  readonly managed?: { readonly memory: ManagedFile; readonly waits: string | null } | undefined
}

export class ConfigurationAccount {
  readonly file: string
  readonly managed: { readonly memory: ManagedFile; readonly account: HandOverAccount } | undefined
  readonly #recorder: Recorder
  readonly #reloads = { ok: 0, failed: 0 }
  #hash: string
  #loadedAt = new Date()
  #last: ConfigSnapshot['lastReload'] = null
  #imported: ImportedSnapshot | null
  #stoppedAt: string | null

  constructor({ file, hash, imported, stopped = false, managed }: ConfigurationSource, recorder: Recorder) {
    this.file = file
    this.managed = managed && { memory: managed.memory, account: new HandOverAccount(managed.memory, managed.waits) }
    this.#recorder = recorder
    this.#hash = hash
    this.#imported = counts(imported)
    this.#stoppedAt = stopped ? new Date().toISOString() : null
  }

  snapshot(): ConfigSnapshot {
    return {
      file: this.file,
      hash: this.#hash === '' ? null : this.#hash,
      loadedAt: this.#loadedAt.toISOString(),
      reloads: { ...this.#reloads },
      lastReload: this.#last,
      imported: this.#imported,
      stoppedAt: this.#stoppedAt,
      managed: this.managed?.account.snapshot() ?? null,
    }
  }

  isInForce(hash: string): boolean {
    return hash === this.#hash
  }

  requested(trigger: string): void {
    this.#recorder.log(LOG.reloadRequested, `${trigger}: reading ${this.file} again`, { trigger })
  }

  succeeded(
    answer: Extract<ReloadAnswer, { ok: true }>,
    imported: ImportedSnapshot | undefined,
    handed: HandedOver | undefined,
  ): ReloadAnswer {
    const { file, hash, warnings, pausedMs, changes, unchanged, checksChanged, restartOnly, values } = answer
    this.#hash = hash
    this.#imported = counts(imported)
    this.#loadedAt = new Date()
    this.#stoppedAt = null
    if (handed === undefined) this.#reloads.ok++
    const problems = warnings.slice(0, MOST_REPORTED)
    this.#last = { at: this.#loadedAt.toISOString(), ok: true, reason: null, problems }
    const done = changes.map(
      ({ router, change }) => `router ${router} ${change}${changesText(values, 'virtualRouters', router)}`,
    )
    if (answer.groupsChanged) done.push(`sync groups changed${groupsText(values)}`)
    const checks = checksChanged.map((name) => `${name}${changesText(values, 'healthchecks', name)}`)
    if (checks.length > 0) done.push(`health checks ${checks.join(' and ')} changed`)
    done.push(...ownTexts(values, restartOnly))
    const same = `${unchanged} ${unchanged === 1 ? 'router' : 'routers'} unchanged`
    const what = handed === undefined ? `Reloaded ${file}` : `Configured by ${whoHandsOver(handed)}`
    this.#recorder.log(LOG.reloaded, `${what}: ${[...done, same].join(', ')}`, {
      hash,
      pausedMs,
      changes,
      checksChanged,
    })
    for (const problem of problems) this.#recorder.log(LOG.configurationProblem, formatProblem(problem))
    for (const key of restartOnly)
      this.#recorder.log(LOG.restartNeeded, `${key} has changed: it takes effect at the next start`, { key })
    return answer
  }

  failed(
    fault: ReloadFailure['fault'],
    reason: string,
    problems: readonly ConfigProblem[],
    handed?: HandedOver,
  ): ReloadAnswer {
    const recorder = this.#recorder
    const errorsFirst = [...problems.filter(isError), ...problems.filter((problem) => !isError(problem))]
    const reported = errorsFirst.slice(0, MOST_REPORTED)
    const file = handed === undefined ? this.file : HANDED_OVER
    if (handed === undefined) this.#reloads.failed++
    const whose = handed === undefined ? '' : `${whoHandsOver(handed)}: `
    this.#last = { at: new Date().toISOString(), ok: false, reason: `${whose}${reason}`, problems: reported }
    const what =
      handed === undefined ? `reload ${file}` : `apply the configuration that ${whoHandsOver(handed)} handed over`
    recorder.log(LOG.reloadFailed, `Cannot ${what}: ${reason}; the configuration in force is kept`, { file, fault })
    const handOver = handed && handOverFields({ ...handed, again: false })
    recorder.chronicle.record({ kind: 'reloaded', ok: false, reason: `${fault}: ${reason}`, ...handOver })
    for (const problem of reported)
      recorder.log(atOtherLevel(LOG.configurationProblem, isError(problem)), formatProblem(problem))
    if (problems.length > reported.length)
      recorder.log(
        LOG.configurationProblemsLeftOut,
        `${problems.length - reported.length} more problems: holdfast check ${file} shows all`,
      )
    return { ok: false, file, fault, reason, problems }
  }

  /** Reports that every router stops until the next reload, or the reason why the order to stop was refused. */
  stoodDown(trigger: string, reason?: string): void {
    if (reason !== undefined) return this.#recorder.log(LOG.stoodDownFailed, `${trigger}: ${reason}`, { trigger })
    this.#stoppedAt = new Date().toISOString()
    this.#recorder.log(LOG.stoodDown, `${trigger}: no virtual router runs until the next reload`, { trigger })
  }
}

/** Returns the same configuration without routers, groups and checks. */
export const idle = (config: Config): Config => ({ ...config, virtualRouters: [], syncGroups: [], healthchecks: [] })

/** Returns the counts of keywords by handling only. `holdfast convert` shows each keyword. */
function counts(imported: ImportedSnapshot | undefined): ImportedSnapshot | null {
  if (imported === undefined) return null
  const { carried, withoutEffect, notSupported, refused, unknown } = imported
  return { carried, withoutEffect, notSupported, refused, unknown }
}
