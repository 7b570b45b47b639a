/**
 * The real daemon as an operator runs it: bin/holdfast run in a host's namespace, its YAML, its log, its status over
 * the unix socket. Decides where its files are; refuses to know anything of its inside.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RouterSnapshot, Snapshot } from '../../daemon/telemetry/snapshot.ts'
import { ask } from '../../files/control-client.ts'
import { packageRoot } from '../installation.ts'
import type { Lab } from '../lab.ts'
import { LoggedProcess } from '../logged-process.ts'
import { snapshotOf } from '../status.ts'
import { eventually, monotonicMs } from '../wait.ts'
import type { Daemon, RouterPlan } from './daemon.ts'

/** Another build may be tried in place of this checkout's. */
const HOLDFAST = process.env.HOLDFAST_BIN ?? join(packageRoot(), 'bin', 'holdfast')

/** Any test with the daemon can be tried through raw-socket: HOLDFAST_TEST_IO=raw-socket npx vitest run test/interop */
const IO = process.env.HOLDFAST_TEST_IO === undefined ? {} : { io: process.env.HOLDFAST_TEST_IO }

/**
 * Any test with the daemon can be recorded: HOLDFAST_TEST_RECORD=FOLDER npx vitest run test/netns, and then
 * holdfast explain --verify --recording for each file there.
 */
const RECORD = process.env.HOLDFAST_TEST_RECORD
let recordings = 0

function recordedTo(host: string): readonly string[] {
  if (RECORD === undefined) return []
  mkdirSync(RECORD, { recursive: true })
  recordings += 1
  return ['--record', join(RECORD, `${process.pid}-${recordings}-${host}.jsonl`)]
}

/** Keys of a virtual router, or of the whole configuration, that a test sets besides the plan. */
export type Extra = Readonly<Record<string, unknown>>

export type LogRecord = Readonly<Record<string, unknown>> & {
  readonly msg: string
  readonly level: number
  readonly at: number
}

/** JSON is YAML. */
export function holdfastConfig(plan: RouterPlan, runDirectory: string, extra: Extra = {}, top: Extra = {}): string {
  const { priority, intervalMs, address, addresses = [address], vrid = 51, unicastPeers, preempt = true } = plan
  const source = plan.unicastSource ?? plan.host.address
  const transport = unicastPeers ? { unicast: { source, peers: unicastPeers } } : 'multicast'
  const router = {
    ...{ name: 'vip', vrid, interface: 'eth0', addresses, priority, preempt, transport },
    ...(plan.peers === undefined ? {} : { peers: plan.peers }),
    ...(plan.version === undefined ? {} : { version: plan.version }),
    ...(plan.password === undefined ? {} : { authentication: { type: 'simple', password: plan.password } }),
  }
  const virtualRouters = [{ ...router, advertisementInterval: `${intervalMs}ms`, ...extra }]
  return JSON.stringify({ version: 1, runDirectory, api: { listen: false }, virtualRouters, ...IO, ...top }, null, 2)
}

export class Holdfast implements Daemon {
  readonly kind = 'holdfast'
  readonly plan: RouterPlan
  readonly socket: string
  readonly file: string
  readonly process: LoggedProcess
  readonly #directory: string
  readonly #extra: Extra
  readonly #top: Extra

  /** `options` go to `holdfast run`; `launcher` is the command that starts it. */
  constructor(
    lab: Lab,
    plan: RouterPlan,
    extra: Extra = {},
    options: readonly string[] = [],
    top: Extra = {},
    launcher: readonly string[] = [],
  ) {
    this.plan = plan
    const directory = join(lab.directory, `holdfast-${plan.host.name}`)
    // The journal of an earlier life stays, as it does on a node.
    mkdirSync(directory, { recursive: true })
    const file = join(directory, 'holdfast.yaml')
    writeFileSync(file, holdfastConfig(plan, directory, extra, top))
    this.#directory = directory
    this.#extra = extra
    this.#top = top
    this.file = file
    this.socket = join(directory, 'holdfast.sock')
    this.process = new LoggedProcess(lab, plan.host, [
      ...launcher,
      HOLDFAST,
      'run',
      '-c',
      file,
      ...(plan.realtime === true ? ['--realtime'] : []),
      ...recordedTo(plan.host.name),
      ...options,
    ])
  }

  get lines() {
    return this.process.lines
  }

  get exited() {
    return this.process.exited
  }

  async ready(within = 10_000): Promise<void> {
    await eventually(
      `holdfast on ${this.plan.host.name} to run its state machine`,
      async () => {
        if (this.process.exit !== undefined)
          throw new Error(`holdfast ended: ${this.lines.map((l) => l.text).join('\n')}`)
        return (await this.state()) !== 'Initialize'
      },
      () => this.lines.slice(-5).map(({ text }) => text),
      { within, every: 20 },
    )
  }

  snapshot(): Promise<Snapshot | undefined> {
    return snapshotOf(this.socket)
  }

  /** The only router's account of itself; throws when the daemon does not answer. */
  async router(): Promise<RouterSnapshot> {
    // On a machine that others keep busy one question may time out; who has ended answers none.
    const look = async () => {
      const router = (await this.snapshot())?.routers[0]
      if (router === undefined && this.process.exit !== undefined)
        throw new Error(`Cannot get the status of holdfast on ${this.plan.host.name} at ${this.socket}`)
      return router
    }
    const said = () => this.lines.slice(-3).map(({ text }) => text)
    const expected = `holdfast on ${this.plan.host.name} to tell its status at ${this.socket}`
    return eventually(expected, look, said, { within: 10_000, every: 50 })
  }

  async state(): Promise<string> {
    return (await this.snapshot())?.routers[0]?.state ?? 'Initialize'
  }

  /** The log lines that are records, with the time they reached us. */
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

  reload(plan: RouterPlan): number {
    writeFileSync(this.file, holdfastConfig(plan, this.#directory, this.#extra, this.#top))
    return this.process.signal('SIGHUP')
  }

  /** Its only router; returns when it was asked. Throws when that is refused. */
  async yieldFor(forMs: number): Promise<number> {
    const at = monotonicMs()
    const { status, body } = await ask(this.socket, {
      path: '/v1/yield',
      order: { router: 'vip', forMs },
      within: 10_000,
    })
    if (status !== 200) throw new Error(`holdfast on ${this.plan.host.name} does not yield: ${status} ${body}`)
    return at
  }

  terminate(): number {
    return this.process.signal('SIGTERM')
  }

  killEngine(): number {
    return this.process.signalChild('SIGKILL')
  }

  killAll(): number {
    return this.process.killFamily()
  }

  freeze(): number {
    return this.process.signalChild('SIGSTOP')
  }

  thaw(): number {
    return this.process.signalChild('SIGCONT')
  }
}
