/**
 * A node with a service manager: the daemon starts again some time after it has ended. Names the processes that a fault
 * can stop or kill: engine and guardian, or the child and the parent of keepalived. Decides configuration and restart.
 * This file does not know the faults of the node's network, nor which node should be Active.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { minimal } from '../../src/lab/daemons/holdfast-process.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { monotonicMs } from '../../src/lab/wait.ts'

export const VIP6 = 'fd00:77::100'
export const VIPS = [LAB_VIP, VIP6]

export const DAEMONS = ['holdfast', 'keepalived'] as const
export type ChaosDaemon = (typeof DAEMONS)[number]
/** A safety net that is taken away, for the tests of the suite itself. */
export const NETS = ['guardian', 'lifetime', 'drain', 'watch'] as const
export type Net = (typeof NETS)[number]

export type NodeOptions = {
  readonly daemon: ChaosDaemon
  readonly interval: number
  readonly priority: number
  readonly without?: Net | undefined
  /** Lets the guardian's clock repeat advertisements, as `without: 'watch'` does. */
  readonly leased?: boolean | undefined
  readonly realtime?: boolean
  /** Configuration of holdfast that replaces the configuration of the suite. */
  readonly configuration?: (priority: number, directory: string) => unknown
  /** Environment variables of the daemon, instead of those that the suite sets. */
  readonly environment?: Readonly<Record<string, string>>
}

export type NodeNote = { readonly at: number; readonly node: string; readonly text: string }
type Victim = 'engine' | 'guardian'

/** Pause of the service manager before it restarts a daemon that ended unexpectedly. */
const RESTART = 500
const LOOK = 50
const MOST_A_SECOND = 300

function holdfastConfig(priority: number, directory: string, options: NodeOptions): string {
  const { configuration, interval, leased = false, without } = options
  if (configuration !== undefined) return JSON.stringify(configuration(priority, directory), null, 2)
  const common = { vrid: 51, interface: 'auto', priority, advertisementInterval: `${interval}ms` }
  const more = without === 'lifetime' ? { lifetime: 'off' } : {}
  const virtualRouters = [
    { name: 'v4', addresses: [`${LAB_VIP}/24`], ...common, ...more },
    { name: 'v6', addresses: [`${VIP6}/64`], ...common, ...more },
  ]
  const lease = leased || without === 'watch' ? { lease: 'on' } : {}
  return JSON.stringify({ ...minimal(directory), ...lease, virtualRouters }, null, 2)
}

function keepalivedConfig(name: string, priority: number, { interval, realtime }: NodeOptions): string {
  const rt = realtime === true ? '  vrrp_rt_priority 10\n' : ''
  const instance = (family: string, more: string, vip: string) =>
    `vrrp_instance ${family} {\n  state BACKUP\n  interface eth0\n  virtual_router_id 51\n  version 3\n${more}  priority ${priority}\n` +
    `  advert_int ${interval / 1000}\n  virtual_ipaddress {\n    ${vip}\n  }\n}\n`
  return (
    `global_defs {\n  router_id ${name}\n  script_user root\n  enable_script_security\n${rt}}\n` +
    instance('v4', '', LAB_VIP) +
    instance('v6', '  native_ipv6\n', VIP6)
  )
}

function startTimeOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[19]
  } catch {
    return undefined
  }
}

export class ChaosNode {
  readonly host: Host
  readonly notes: NodeNote[] = []
  readonly #lab: Lab
  readonly #options: NodeOptions
  /** Folder of the configuration file, and runDirectory of holdfast. */
  readonly directory: string
  #process: LoggedProcess | undefined
  #restartIn = RESTART
  #timer: NodeJS.Timeout | undefined
  #over = false
  #starts = 0
  readonly #pids = new Map<Victim, number>()
  #look: NodeJS.Timeout | undefined
  readonly #frozen = new Map<number, string | undefined>()

  constructor(lab: Lab, host: Host, options: NodeOptions) {
    this.#lab = lab
    this.host = host
    this.#options = options
    this.directory = join(lab.directory, `chaos-${host.name}`)
    mkdirSync(this.directory, { recursive: true })
    this.configure(options.priority)
  }

  get #file(): string {
    return join(this.directory, 'daemon.conf')
  }

  get #clockFile(): string {
    return join(this.directory, 'clock')
  }

  /** Writes the configuration file, without a signal to the daemon. */
  configure(priority: number = this.#options.priority): void {
    const { daemon } = this.#options
    writeFileSync(
      this.#file,
      daemon === 'holdfast'
        ? holdfastConfig(priority, this.directory, this.#options)
        : keepalivedConfig(this.host.name, priority, this.#options),
    )
  }

  get #argv(): string[] {
    const { daemon, without, realtime = false } = this.#options
    const at = (name: string) => join(this.directory, name)
    if (daemon === 'keepalived') {
      const files = ['--use-file', this.#file, '--pid', at('pid'), '--vrrp_pid', at('vrrp.pid')]
      return ['keepalived', '--vrrp', '--dont-fork', '--log-console', ...files]
    }
    const more = realtime ? ['--realtime'] : []
    if (without === 'guardian')
      return [
        process.execPath,
        '--max-semi-space-size=1',
        join(packageRoot(), 'dist', 'bundle', 'main.js'),
        'run',
        '-c',
        this.#file,
      ]
    return [join(packageRoot(), 'bin', 'holdfast'), 'run', '-c', this.#file, ...more]
  }

  get #environment(): Record<string, string> {
    if (this.#options.daemon === 'keepalived') return { TMPDIR: this.directory }
    if (this.#options.environment !== undefined) return { ...this.#options.environment }
    writeFileSync(this.#clockFile, '0')
    const preload = join(packageRoot(), 'test', 'support', 'chaos-preload.mjs')
    return {
      NODE_OPTIONS: `--import=${preload}`,
      CHAOS_CLOCK: this.#clockFile,
      ...(this.#options.without === 'drain' ? { CHAOS_DRAIN: 'off' } : {}),
      ...(this.#options.without === 'watch' ? { CHAOS_WATCH: 'off' } : {}),
    }
  }

  start(): void {
    if (this.#over) return
    this.#starts++
    const process = new LoggedProcess(this.#lab, this.host, this.#argv, this.#environment)
    process.onLine(({ at, text }) => {
      // A daemon that logs every packet of a flood must not fill our memory.
      const before = this.notes.at(-MOST_A_SECOND)
      if (before === undefined || at - before.at > 1_000) this.notes.push({ at, node: this.host.name, text })
    })
    this.#process = process
    this.#pids.clear()
    this.#remember(process)
    void process.exited.then(({ code, signal }) => {
      this.note(`ended: ${signal ?? code}`)
      clearTimeout(this.#look)
      if (this.#process === process) this.#process = undefined
      this.#timer = setTimeout(() => this.start(), this.#restartIn)
      this.#restartIn = RESTART
    })
    this.note('started')
  }

  note(text: string): void {
    this.notes.push({ at: monotonicMs(), node: this.host.name, text: `* ${text}` })
  }

  /** Process id of the daemon's first process, which is the guardian. `undefined` while no daemon runs. */
  get pid(): number | undefined {
    return this.#process?.exit === undefined ? this.#process?.pid : undefined
  }

  get starts(): number {
    return this.#starts
  }

  /** Remembers the processes of the daemon. The engine of a killed guardian is no longer its child, but must still be found. */
  #remember(process: LoggedProcess): void {
    if (this.#process !== process || process.exit !== undefined) return
    if (this.#options.without === 'guardian') {
      this.#pids.set('engine', process.pid)
      return
    }
    this.#pids.set('guardian', process.pid)
    const [engine] = process.children
    // keepalived's parent starts another one by itself.
    if (engine !== undefined) this.#pids.set('engine', engine)
    this.#look = setTimeout(() => this.#remember(process), LOOK)
  }

  #pid(victim: Victim): number | undefined {
    const pid = this.#pids.get(victim)
    return pid === undefined || startTimeOf(pid) === undefined ? undefined : pid
  }

  /** Sends a signal. Returns false if no process was there to receive it. */
  signal(victims: readonly Victim[], signal: NodeJS.Signals): boolean {
    const pids = victims.map((victim) => this.#pid(victim)).filter((pid) => pid !== undefined)
    for (const pid of pids) {
      if (signal === 'SIGSTOP') this.#frozen.set(pid, startTimeOf(pid))
      this.#send(pid, signal)
    }
    return pids.length > 0
  }

  /** Resumes the processes that were stopped here and still are the same processes. */
  thaw(): void {
    for (const [pid, started] of this.#frozen)
      if (started !== undefined && startTimeOf(pid) === started) this.#send(pid, 'SIGCONT')
    this.#frozen.clear()
  }

  #send(pid: number, signal: NodeJS.Signals): void {
    try {
      process.kill(pid, signal)
    } catch {
      // The process has ended in the meantime.
    }
  }

  /** Sets the time between the end of the daemon and its next start, ms. */
  restartIn(ms: number): void {
    this.#restartIn = ms
  }

  /**
   * Kills engine and guardian. Engine and guardian are stopped first, so that they do not react to the death of each
   * other.
   */
  killGroup(): boolean {
    this.signal(['engine', 'guardian'], 'SIGSTOP')
    return this.signal(['engine', 'guardian'], 'SIGKILL')
  }

  /** Reloads with this priority, any number of times. The last reload of the fault restores the node's own priority. */
  reload(priority: number = this.#options.priority): boolean {
    this.configure(priority)
    return this.signal([this.#options.without === 'guardian' ? 'engine' : 'guardian'], 'SIGHUP')
  }

  /** Moves the time of day that the engine sees by this many ms, permanently. */
  stepClock(ms: number): boolean {
    if (this.#options.daemon !== 'holdfast') return false
    const now = Number(readFileSync(this.#clockFile, 'utf8'))
    writeFileSync(this.#clockFile, String(now + ms))
    const pid = this.#pid('engine')
    if (pid !== undefined) this.#send(pid, 'SIGWINCH')
    return pid !== undefined
  }

  /** Ends the restarts of the daemon, and resumes its stopped processes. */
  retire(): void {
    this.#over = true
    clearTimeout(this.#timer)
    clearTimeout(this.#look)
    this.thaw()
  }
}
