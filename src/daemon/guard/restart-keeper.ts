/**
 * Keeps the guardian's record of this engine up to date (docs/adr/0088). With a record, the guardian starts the engine
 * again after a crash, and the addresses stay. This file decides when there is a record: not while an operator's order
 * is in force that a new engine would not know. The guardian itself refuses a restart while a router with addresses is
 * not at rest.
 */
import type { Config } from '../../config/config.ts'
import type { CheckBoard } from '../health/check-board.ts'
import type { RestartPort } from '../ports.ts'
import type { Registry } from '../router/registry.ts'
import type { Router } from '../router/router.ts'
import { type RouterRecord, writeRecord } from './restart-record.ts'

export type RestartKeeperContext = {
  /** Port of the guardian; `undefined` if the guardian cannot start an engine again. */
  readonly port: RestartPort | undefined
  readonly registry: Pick<Registry, 'all' | 'departing'>
  readonly board: Pick<CheckBoard, 'formerly'>
  readonly config: () => Config
  readonly isStopping: () => boolean
  /**
   * Returns version, file and hash of the configuration in force; `undefined` if the next engine could not read the
   * same configuration.
   */
  readonly identity: (() => string | undefined) | undefined
}

export class RestartKeeper {
  readonly #context: RestartKeeperContext
  #isStale = false

  constructor(context: RestartKeeperContext) {
    this.#context = context
  }

  /** Notes that something has changed that the record contains. */
  changed(): void {
    this.#isStale = true
  }

  /** Gives the guardian the new record at the end of a turn, if it has changed. */
  settle(): void {
    if (!this.#isStale) return
    this.#isStale = false
    const { board, identity, port, registry } = this.#context
    if (port === undefined) return
    const known = this.#isWanted() ? identity?.() : undefined
    const active = registry.all.filter(({ clock }) => clock.isArmed)
    const records = active.flatMap((router) => recordOf(router, port) ?? [])
    if (known === undefined || records.length < active.length) return port.isKept ? port.keep(undefined) : undefined
    const checks = board
      .formerly()
      .map(({ weight, ...check }) => ({ ...check, ...(weight !== undefined && { weight }) }))
    port.keep({ claims: records, text: writeRecord({ identity: known, routers: records, checks }) })
  }

  #isWanted(): boolean {
    const { config, isStopping, registry } = this.#context
    const { lease, onCrash } = config()
    if (onCrash !== 'restart' || lease !== 'on' || isStopping() || registry.departing.size > 0) return false
    return registry.all.every(({ priority }) => priority.yieldingUntil === undefined)
  }
}

/** Returns the record of an Active with a clock; `undefined` if something about its place is unknown. */
function recordOf({ clock, group, io, name, parameters, state }: Router, port: RestartPort): RouterRecord | undefined {
  const claim = port.claim(clock.slot)
  if (io === undefined || claim === undefined || state.name !== 'Active') return undefined
  const { interfaceIndex, interfaceName, mac } = io
  const carrierChanges = port.carrierChanges(interfaceName)
  if (carrierChanges === undefined) return undefined
  const { primaryAddress: source, priority } = parameters
  const place = { interfaceName, interfaceIndex, mac: String(mac), carrierChanges, source: String(source) }
  const inGroup = group.name === undefined ? {} : { group: group.name }
  return { name, ...inGroup, unit: group.cleanup.unit, ...claim, since: state.since, ...place, priority }
}
