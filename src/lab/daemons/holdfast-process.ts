/**
 * Controls one `holdfast run` process in a network namespace: its configuration file, its log, its status over the
 * control socket, and its signals. This file decides where the files of the process are. This file does not know the
 * contents of configurations.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RouterSnapshot, Snapshot } from '../../daemon/telemetry/snapshot.ts'
import { holdfastProgram } from '../installation.ts'
import { LoggedProcess } from '../logged-process.ts'
import type { Site } from '../namespaces.ts'
import type { Host } from '../network.ts'
import { snapshotOf } from '../status.ts'
import { eventually, PATIENCE } from '../wait.ts'
import { DaemonProcess } from './daemon-process.ts'

export type Start = {
  /** The daemon's runDirectory, which also contains its configuration file. */
  readonly directory: string
  /**
   * Content of the configuration file, as an object (written as JSON, which is also YAML) or as text. If absent, the
   * file must exist already.
   */
  readonly configuration?: object | string
  /** Further command-line options of `holdfast run`. */
  readonly flags?: readonly string[]
  /** Command that starts the daemon; absent: the program is started directly. */
  readonly launcher?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

export type LogRecord = Readonly<Record<string, unknown>> & {
  readonly msg: string
  readonly level: number
  readonly at: number
}

/**
 * Value of `lease` for every daemon of a test run; `on` uses the guardian's clock: HOLDFAST_TEST_LEASE=on npx vitest
 * run test/netns
 */
const LEASE = process.env.HOLDFAST_TEST_LEASE === undefined ? {} : { lease: process.env.HOLDFAST_TEST_LEASE }
/** True if the guardian's clock repeats the advertisements of this test run's daemons. */
export const LEASED = process.env.HOLDFAST_TEST_LEASE === 'on'

/**
 * Returns the keys that every configuration in a lab has: no listener for the API, and the folder for the daemon's
 * files.
 */
export const minimal = (runDirectory: string) => ({ version: 1, runDirectory, api: { listen: false }, ...LEASE })

const textOf = (configuration: object | string): string =>
  typeof configuration === 'string' ? configuration : JSON.stringify(configuration, null, 2)

export class HoldfastProcess extends DaemonProcess {
  readonly host: Host
  readonly directory: string
  readonly file: string
  readonly socket: string

  constructor(site: Site, host: Host, start: Start) {
    const { configuration, directory, environment, flags = [], launcher = [] } = start
    const file = join(directory, 'holdfast.yaml')
    // The folder may contain the event journal of an earlier run, which stays, as on a real node.
    mkdirSync(directory, { recursive: true })
    if (configuration !== undefined) writeFileSync(file, textOf(configuration))
    const argv = [...launcher, site.program ?? holdfastProgram(), 'run', '-c', file, ...flags]
    super(new LoggedProcess(site, host, argv, environment))
    this.host = host
    this.directory = directory
    this.file = file
    this.socket = join(directory, 'holdfast.sock')
  }

  /** Writes the configuration file. The daemon does not read the file before a reload. */
  write(configuration: object | string): void {
    writeFileSync(this.file, textOf(configuration))
  }

  /** Returns the daemon's status; `undefined` if the daemon does not answer. */
  snapshot(): Promise<Snapshot | undefined> {
    return snapshotOf(this.socket)
  }

  /** Returns the state of the first virtual router; Initialize if the daemon does not answer. */
  async state(): Promise<string> {
    return (await this.snapshot())?.routers[0]?.state ?? 'Initialize'
  }

  /** Returns the status of the daemon. Throws if the daemon has ended, or does not answer for 10 s. */
  status(): Promise<Snapshot> {
    return this.#answered((snapshot) => snapshot)
  }

  /** Returns the status of the first virtual router. Throws if the daemon has ended, or does not answer for 10 s. */
  router(): Promise<RouterSnapshot> {
    return this.#answered(({ routers: [router] }) => router)
  }

  #answered<T>(part: (snapshot: Snapshot) => T | undefined): Promise<T> {
    // On a busy machine, a single request to the daemon may time out.
    const look = async () => {
      const snapshot = await this.snapshot()
      if (snapshot === undefined && this.process.exit !== undefined)
        throw new Error(`Cannot get the status of holdfast on ${this.host.name} at ${this.socket}`)
      return snapshot && part(snapshot)
    }
    const expected = `holdfast on ${this.host.name} to tell its status at ${this.socket}`
    return eventually(expected, look, { sight: () => this.lastLines(3), within: 10_000, every: 50 })
  }

  /**
   * Resolves when the state machine of the first virtual router runs, in state Backup or Active. Throws if the daemon
   * ends before that.
   */
  ready(within = PATIENCE): Promise<void> {
    return this.#until('run its state machine', (state) => state !== 'Initialize', within)
  }

  /**
   * Resolves when the daemon reports the first virtual router in state `wanted`. Throws if the daemon ends before that.
   */
  becomes(wanted: string, within = 10_000): Promise<void> {
    return this.#until(`be ${wanted}`, (state) => state === wanted, within)
  }

  async #until(what: string, isWanted: (state: string) => boolean, within: number): Promise<void> {
    const is = async () => {
      if (this.process.exit !== undefined)
        throw new Error(`holdfast on ${this.host.name} ended: ${this.lastLines().join('\n')}`)
      return isWanted(await this.state())
    }
    await eventually(`holdfast on ${this.host.name} to ${what}`, is, {
      sight: () => this.lastLines(5),
      within,
      every: 20,
    })
  }

  lastLines(count = Number.POSITIVE_INFINITY): string[] {
    return this.lines.slice(-count).map(({ text }) => text)
  }

  /** Log lines of the daemon that are JSON records, each with the time at which this process received the line. */
  get records(): LogRecord[] {
    return this.lines.flatMap(({ at, text }) => {
      try {
        const value: unknown = JSON.parse(text)
        if (typeof value !== 'object' || value === null || !('msg' in value) || !('level' in value)) return []
        return [{ ...value, msg: String(value.msg), level: Number(value.level), at }]
      } catch {
        return []
      }
    })
  }
}
