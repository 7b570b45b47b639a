/**
 * Runs a holdfast router with the plan of a test scenario: turns the plan into a configuration, with further options
 * that a test may set. This file does not know scenarios.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../../base/defined.ts'
import { ask } from '../../files/control-client.ts'
import type { Lab } from '../lab.ts'
import { monotonicMs } from '../wait.ts'
import type { Daemon, RouterPlan } from './daemon.ts'
import { HoldfastProcess, minimal } from './holdfast-process.ts'

/** Value of `io` for every daemon of a test run: HOLDFAST_TEST_IO=raw-socket npx vitest run test/interop */
const IO = process.env.HOLDFAST_TEST_IO === undefined ? {} : { io: process.env.HOLDFAST_TEST_IO }

/**
 * Folder in which every daemon of a test run records its inputs; `undefined`: no daemon records. Use
 * HOLDFAST_TEST_RECORD=FOLDER npx vitest run test/netns, and then holdfast explain --verify --recording for each file
 * in that folder.
 */
const RECORD = process.env.HOLDFAST_TEST_RECORD
let recordings = 0

function recordedTo(host: string): readonly string[] {
  if (RECORD === undefined) return []
  mkdirSync(RECORD, { recursive: true })
  recordings += 1
  return ['--record', join(RECORD, `${process.pid}-${recordings}-${host}.jsonl`)]
}

/**
 * Configuration keys that a test sets in addition to the plan, for a virtual router or at the top of the configuration.
 */
export type Extra = Readonly<Record<string, unknown>>

/** Returns the text of a configuration file for the plan. The text is JSON, which is also YAML. */
export function holdfastConfig(plan: RouterPlan, runDirectory: string, extra: Extra = {}, top: Extra = {}): string {
  const { priority, intervalMs, address, addresses = [address], vrid = 51, unicastPeers, preempt = true } = plan
  const source = plan.unicastSource ?? plan.host.address
  const transport = unicastPeers ? { unicast: { source, peers: unicastPeers } } : 'multicast'
  const router = {
    ...{ name: 'vip', vrid, interface: 'eth0', addresses, priority, preempt, transport },
    ...defined({ peers: plan.peers, version: plan.version }),
    ...(plan.password === undefined ? {} : { authentication: { type: 'simple', password: plan.password } }),
  }
  const virtualRouters = [{ ...router, advertisementInterval: `${intervalMs}ms`, ...extra }]
  return JSON.stringify({ ...minimal(runDirectory), virtualRouters, ...IO, ...top }, null, 2)
}

export class Holdfast extends HoldfastProcess implements Daemon {
  readonly kind = 'holdfast'
  readonly plan: RouterPlan
  readonly #extra: Extra
  readonly #top: Extra

  /**
   * Starts the daemon. `options` are command-line arguments of `holdfast run`. `launcher` is the command that starts
   * the daemon.
   */
  constructor(
    lab: Lab,
    plan: RouterPlan,
    extra: Extra = {},
    options: readonly string[] = [],
    top: Extra = {},
    launcher: readonly string[] = [],
  ) {
    const { name } = plan.host
    const directory = join(lab.directory, `holdfast-${name}`)
    const realtime = plan.realtime === true ? ['--realtime'] : []
    super(lab, plan.host, {
      configuration: holdfastConfig(plan, directory, extra, top),
      flags: [...realtime, ...recordedTo(name), ...options],
      ...{ directory, launcher },
    })
    this.plan = plan
    this.#extra = extra
    this.#top = top
  }

  reload(plan: RouterPlan): number {
    this.write(holdfastConfig(plan, this.directory, this.#extra, this.#top))
    return this.process.signal('SIGHUP')
  }

  /**
   * Makes the only virtual router yield for `forMs` milliseconds. Returns the time of the request in ms. Throws if the
   * daemon refuses the request.
   */
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
}
