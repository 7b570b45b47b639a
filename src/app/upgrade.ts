/**
 * `holdfast upgrade` in the running engine (docs/adr/0096): lets the guardian try the program on the disk, finishes what
 * must not be lost, and orders its replacement. This file decides the order of these steps, and how long the engine waits
 * for rest. Until the last step nothing has changed, so each refusal leaves the engine as it was.
 */
import { messageOf } from '../base/message-of.ts'
import { identityText, readRecord } from '../daemon/guard/restart-record.ts'
import type { RestartOrder } from '../daemon/ports.ts'
import { LOG } from '../log/log.ts'
import type { EngineProcess } from './compose.ts'

/** Milliseconds to wait until every router is at rest and no program of a notification runs. */
const LONGEST_WAIT = 5_000
const LOOK_AGAIN = 20
/** Milliseconds for events that wait for the webhook. */
const LAST_EVENTS = 2_000

/**
 * Reason why the engine was not replaced. `impossible`: this engine cannot be replaced without a move of its addresses.
 * `refused`: the dry run of the program failed.
 */
export type UpgradeRefusal = { readonly fault: 'impossible' | 'refused'; readonly reason: string }

/** Exit status of a dry run whose program could start, but cannot continue with the addresses of this engine. */
export const NEEDS_RESTART = 75

/** The parts of a daemon that an upgrade uses. `config` is the configuration of the start, before any reload. */
export type UpgradeParts = {
  readonly config: Pick<EngineProcess['config'], 'api'>
  readonly daemon: Pick<EngineProcess['daemon'], 'config' | 'endUpgrade' | 'forUpgrade'>
  readonly guardian: Pick<EngineProcess['guardian'], 'restart'>
  readonly journal: Pick<EngineProcess['journal'], 'flush'>
  readonly live: Pick<EngineProcess['live'], 'rehearse'>
  readonly recorder: Pick<EngineProcess['recorder'], 'chronicle' | 'log'>
  readonly tapes: Pick<EngineProcess['tapes'], 'writeNow'>
  readonly webhook: Pick<EngineProcess['webhook'], 'finish'>
}

export class Upgrade {
  readonly #parts: UpgradeParts
  #isRunning = false

  constructor(parts: UpgradeParts) {
    this.#parts = parts
  }

  /** Replaces this engine. Resolves only if it is not replaced. */
  async run(): Promise<UpgradeRefusal> {
    if (this.#isRunning) return { fault: 'impossible', reason: 'another upgrade runs already' }
    this.#isRunning = true
    try {
      const refusal = await this.#replace()
      this.#parts.recorder.log(LOG.upgradeRefused, `Upgrade refused: ${refusal.reason}`, refusal)
      return refusal
    } catch (error) {
      return { fault: 'impossible', reason: messageOf(error) }
    } finally {
      this.#isRunning = false
    }
  }

  async #replace(): Promise<UpgradeRefusal> {
    const { config, daemon, guardian, journal, recorder, tapes, webhook } = this.#parts
    // holdfast upgrade would ask for the next engine at the old path.
    if (daemon.config.api.socket !== config.api.socket)
      return { fault: 'impossible', reason: 'api.socket has changed since the start' }
    const begun = await this.#atRest()
    const port = guardian.restart
    if ('reason' in begun || port === undefined) return { fault: 'impossible', reason: reasonOf(begun) }
    const { output, status } = await port.rehearse(begun)
    if (status === NEEDS_RESTART) return { fault: 'impossible', reason: output.trim() }
    if (status !== 0) return { fault: 'refused', reason: `dry run ended with status ${status}\n${output.trim()}` }
    recorder.log(LOG.upgradeOrdered, 'The dry run of the next engine passed; this engine is replaced')
    recorder.chronicle.record({ kind: 'upgradeOrdered' })
    await webhook.finish(LAST_EVENTS)
    await journal.flush()
    const record = await this.#afterDryRun(begun)
    if ('fault' in record) return record
    tapes.writeNow()
    const reason = port.handOver(record)
    daemon.endUpgrade()
    return { fault: 'impossible', reason }
  }

  /** Resolves with the record for the hand-over. Refuses another configuration than that of the dry run. */
  async #afterDryRun(begun: RestartOrder): Promise<RestartOrder | UpgradeRefusal> {
    const { daemon, live } = this.#parts
    await this.#atRest()
    const onDisk = await live.rehearse()
    const record = daemon.forUpgrade()
    if ('reason' in record) return { fault: 'impossible', reason: record.reason }
    const tried = readRecord(begun.text)?.identity
    const isTried = onDisk.ok && identityText(onDisk.file, onDisk.hash) === tried
    if (isTried && readRecord(record.text)?.identity === tried) return record
    const why = onDisk.ok ? 'has changed meanwhile' : onDisk.reason
    return { fault: 'refused', reason: `dry run is out of date: ${onDisk.file}: ${why}: try again` }
  }

  /** Resolves with the record for the next engine, or with the reason why there is none. */
  async #atRest(): Promise<ReturnType<UpgradeParts['daemon']['forUpgrade']>> {
    for (const until = performance.now() + LONGEST_WAIT; ; ) {
      const found = this.#parts.daemon.forUpgrade()
      if (!('reason' in found) || !found.isPassing || performance.now() > until) return found
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN))
    }
  }
}

const reasonOf = (begun: object): string =>
  'reason' in begun && typeof begun.reason === 'string' ? begun.reason : 'the guardian has no clock'
