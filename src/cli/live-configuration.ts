/**
 * The configuration in force and its way to another one: one reload at a time, whoever asks for it, and an account of
 * the last one for log, status and metrics. Decided here: that a reload which does not work out changes nothing, and
 * who is told. Refuses to know how a file is read (worker) and what a difference means (daemon).
 */
import type { FreshConfig } from '../api/worker-message.ts'
import type { Config } from '../config/config.ts'
import { type ConfigDiff, diffConfig } from '../config/diff.ts'
import { formatProblem, isError } from '../config/problem.ts'
import type { Recorder } from '../daemon/recorder.ts'
import type { ReloadReport } from '../daemon/reload.ts'
import type { ConfigProblem, ConfigSnapshot, ImportedSnapshot } from '../daemon/snapshot.ts'

/** In the status and in the log; the answer to `holdfast reload` has all. */
const MOST_TOLD = 20

export type ReloadAnswer = { readonly file: string } & (
  | (Extract<ReloadReport, { ok: true }> & {
      readonly hash: string
      readonly warnings: readonly ConfigProblem[]
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
  /** Rejects with Error when it got no answer. */
  readonly read: (file: string) => Promise<FreshConfig>
  readonly apply: (next: Config, diff: ConfigDiff) => ReloadReport
  readonly inForce: () => Config
}

type Source = {
  readonly file: string
  readonly hash: string
  readonly imported?: ImportedSnapshot | undefined
  /** It begins with nothing in force. */
  readonly stopped?: boolean
}

export class LiveConfiguration {
  readonly #ports: LiveConfigurationPorts
  readonly #file: string
  #hash: string
  #loadedAt = new Date()
  readonly #reloads = { ok: 0, failed: 0 }
  #last: ConfigSnapshot['lastReload'] = null
  #imported: ImportedSnapshot | null
  #stoppedAt: string | null
  #running: Promise<unknown> = Promise.resolve()
  /** Asked for and not begun. */
  #next: Promise<ReloadAnswer> | undefined

  constructor({ file, hash, imported, stopped = false }: Source, ports: LiveConfigurationPorts) {
    this.#file = file
    this.#imported = counts(imported)
    this.#stoppedAt = stopped ? new Date().toISOString() : null
    this.#hash = hash
    this.#ports = ports
  }

  snapshot(): ConfigSnapshot {
    return {
      file: this.#file,
      hash: this.#hash,
      loadedAt: this.#loadedAt.toISOString(),
      reloads: { ...this.#reloads },
      lastReload: this.#last,
      imported: this.#imported,
      stoppedAt: this.#stoppedAt,
    }
  }

  /** Never rejects. Whoever asks while a reload waits for its turn joins it: both would read the same file. */
  reload(trigger: string): Promise<ReloadAnswer> {
    this.#ports.recorder.log('info', `${trigger}: reading ${this.#file} again`, { trigger })
    this.#next ??= this.#enqueue()
    return this.#next
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

  #enqueue(): Promise<ReloadAnswer> {
    const turn = this.#running.then(() => {
      this.#next = undefined
      return this.#reload()
    })
    this.#running = turn
    return turn
  }

  async #reload(): Promise<ReloadAnswer> {
    let fresh: FreshConfig
    try {
      fresh = await this.#ports.read(this.#file)
    } catch (error) {
      return this.#fail('failed', error instanceof Error ? error.message : String(error), [])
    }
    if (!fresh.ok) {
      const count = fresh.problems.filter(isError).length
      return this.#fail('invalid', count === 1 ? 'one problem' : `${count} problems`, fresh.problems)
    }
    const { config, diff, hash, imported, warnings } = fresh
    const before = performance.now()
    const report = this.#ports.apply(config, diff)
    const pausedMs = Math.round((performance.now() - before) * 10) / 10
    if (!report.ok) return this.#fail('failed', report.reason, [])
    this.#imported = counts(imported)
    return this.#succeed({ file: this.#file, hash, warnings, pausedMs, ...report })
  }

  #succeed(answer: Extract<ReloadAnswer, { ok: true }>): ReloadAnswer {
    const { recorder } = this.#ports
    const { file, hash, warnings, pausedMs, changes, unchanged, checksChanged, restartOnly } = answer
    this.#hash = hash
    this.#loadedAt = new Date()
    this.#stoppedAt = null
    this.#reloads.ok++
    this.#last = { at: this.#loadedAt.toISOString(), ok: true, reason: null, problems: warnings.slice(0, MOST_TOLD) }
    const done = changes.map(({ router, change }) => `${router} ${change}`)
    if (checksChanged.length > 0) done.push(`health checks ${checksChanged.join(' and ')} changed`)
    recorder.log('info', `Reloaded ${file}: ${[...done, `${unchanged} unchanged`].join(', ')}`, {
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

  #fail(fault: 'invalid' | 'failed', reason: string, problems: readonly ConfigProblem[]): ReloadAnswer {
    const { recorder } = this.#ports
    const told = [...problems.filter(isError), ...problems.filter((problem) => !isError(problem))].slice(0, MOST_TOLD)
    this.#reloads.failed++
    this.#last = { at: new Date().toISOString(), ok: false, reason, problems: told }
    const message = `Cannot reload ${this.#file}: ${reason}; the configuration in force is kept`
    recorder.log('error', message, { file: this.#file, fault })
    for (const problem of told) recorder.log(isError(problem) ? 'error' : 'warn', formatProblem(problem))
    if (problems.length > told.length)
      recorder.log('error', `${problems.length - told.length} more: holdfast check ${this.#file} tells all`)
    return { ok: false, file: this.#file, fault, reason, problems }
  }
}

/** The same daemon without anything to do. */
export const idle = (config: Config): Config => ({ ...config, virtualRouters: [], syncGroups: [], healthchecks: [] })

/** Without what each keyword has become: holdfast convert tells. */
function counts(imported: ImportedSnapshot | undefined): ImportedSnapshot | null {
  if (imported === undefined) return null
  const { carried, withoutEffect, notSupported, refused, unknown } = imported
  return { carried, withoutEffect, notSupported, refused, unknown }
}
