/**
 * The file with which an engine with --managed starts (docs/adr/0051). This file decides that an empty or unusable file
 * does not end such an engine. The engine is idle until a configuration is handed over, and its status shows why.
 */

import type { Config } from '../../config/config.ts'
import { type NodeSettings, withSettings } from '../../config/node-settings.ts'
import { formatProblem, isError, type Problem } from '../../config/problem.ts'
import { parseConfig } from '../../config/text/yaml.ts'
import type { Recorder } from '../../daemon/telemetry/recorder.ts'
import { type AnyConfig, loadAny } from '../../files/configuration-language.ts'
import { readRegular } from '../../files/fresh-configuration.ts'
import { ManagedFile } from '../../files/managed-file.ts'
import { unsafeFolder } from '../../files/socket-folder.ts'
import { LOG } from '../../log/log.ts'
import { atOtherLevel } from '../../log/log-event.ts'
import { idle } from './configuration-account.ts'

export type Remembered = Extract<AnyConfig, { readonly config: Config }>

export class Memory {
  readonly #file: string
  readonly #settings: NodeSettings
  /** Reason why the configuration of the file is not in force; `null` if it is in force. */
  #waits: string | null = null
  #problems: readonly Problem[] = []

  constructor(file: string, settings: NodeSettings) {
    this.#file = file
    this.#settings = settings
  }

  get waits(): string | null {
    return this.#waits
  }

  /** Returns the configuration of the file, or a configuration without routers. */
  read(): Remembered {
    const isEmpty = { yes: false }
    const found = loadAny(this.#file, undefined, (path) => {
      const text = orNothing(path)
      isEmpty.yes = text.trim() === ''
      return text
    })
    if ('config' in found) return { ...found, config: withSettings(found.config, this.#settings) }
    if (isEmpty.yes) this.#waits = 'No configuration has been handed over yet'
    else this.#refuse(found.problems)
    return { ...nothing(), config: withSettings(nothing().config, this.#settings) }
  }

  /** Returns a configuration without routers if one of the problems is an error, otherwise `config`. */
  judge(config: Config, problems: readonly Problem[]): Config {
    if (!problems.some(isError)) return config
    this.#refuse(problems)
    return { ...idle(config), io: 'addon' }
  }

  /** Logs the reason why an engine without a configuration is idle; logs nothing if the engine has a configuration. */
  report(recorder: Recorder): void {
    if (this.#waits === null) return
    const event = atOtherLevel(LOG.idle, this.#problems.length > 0)
    recorder.log(event, `${this.#waits}: idle until a configuration is handed over`, { file: this.#file })
    for (const problem of this.#problems.filter(isError))
      recorder.log(atOtherLevel(LOG.configurationProblem, true), formatProblem(problem))
  }

  /** Returns the file for the configurations that will be handed over. */
  open(recorder: Recorder): ManagedFile {
    const fields = { file: this.#file }
    const file = new ManagedFile({
      path: this.#file,
      onProblem: (message) =>
        recorder.logLimited(
          'managed file',
          LOG.configurationNotStored,
          `${message}; a restart would lose the configuration that was handed over`,
          fields,
        ),
      onStored: () =>
        recorder.log(LOG.configurationStored, `${this.#file} has the configuration in force again`, fields),
    })
    void file.prepare().then(() => {
      const unsafe = whyUnsafe(this.#file)
      if (unsafe !== undefined)
        recorder.log(LOG.managedFileUnsafe, `${this.#file} is in an unsafe folder: ${unsafe}`, fields)
    })
    return file
  }

  #refuse(problems: readonly Problem[]): void {
    const count = problems.filter(isError).length
    this.#problems = problems
    this.#waits = `Cannot use ${this.#file}: ${count === 1 ? 'one problem' : `${count} problems`}`
  }
}

function orNothing(path: string): string {
  try {
    return readRegular(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

function nothing(): Remembered {
  const parsed = parseConfig('virtualRouters: []')
  if ('problems' in parsed) throw new Error('The empty configuration is invalid')
  return { ...parsed, warnings: [], hash: '', missing: true }
}

function whyUnsafe(path: string): string | undefined {
  try {
    return unsafeFolder(path)
  } catch {
    // The folder does not exist, which onProblem has reported.
    return undefined
  }
}
