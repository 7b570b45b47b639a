/**
 * Keeps the guardian's record of this engine up to date (docs/adr/0088). With a record, the guardian starts the engine
 * again after a crash, and the addresses stay. The record of an upgrade (docs/adr/0096) has the same content. This file decides when there is a record: not while an operator's order
 * is in force that a new engine would not know. The guardian itself refuses a restart while a router with addresses is
 * not at rest.
 */
import type { Config } from '../../config/config.ts'
import type { CheckBoard } from '../health/check-board.ts'
import type { RestartOrder, RestartPort } from '../ports.ts'
import type { Registry } from '../router/registry.ts'
import type { Router } from '../router/router.ts'
import { type RouterRecord, writeRecord } from './restart-record.ts'

export type KeeperPorts = {
  /** `restart`: `undefined` if the guardian cannot start an engine again. */
  readonly guardian: { readonly restart?: RestartPort | undefined }
  /**
   * Returns file and hash of the configuration in force; `undefined` if the next engine could not read the same
   * configuration.
   */
  readonly identity?: (() => string | undefined) | undefined
  /** Version of holdfast. */
  readonly version?: string | undefined
}

export type RestartKeeperContext = {
  readonly ports: KeeperPorts
  readonly registry: Pick<Registry, 'all' | 'departing'>
  readonly board: Pick<CheckBoard, 'kept'>
  readonly config: () => Config
  readonly isStopping: () => boolean
}

/** Reason why no other engine can replace this one. `isPassing`: the reason may end within seconds. */
export type Obstacle = { readonly reason: string; readonly isPassing: boolean }

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
    const port = this.#context.ports.guardian.restart
    if (port === undefined) return
    const record = this.#isWanted() ? this.#record(port) : undefined
    if (record !== undefined || port.isKept) port.keep(record)
  }

  /** Returns the record for an engine that replaces this one, or the reason why none can. */
  forUpgrade(): RestartOrder | Obstacle {
    const { config, isStopping, registry } = this.#context
    const { guardian, identity } = this.#context.ports
    const port = guardian.restart
    const refuse = (reason: string, isPassing = false): Obstacle => ({ reason, isPassing })
    if (config().lease !== 'on') return refuse('lease: must be "on", because the guardian advertises meanwhile')
    if (port === undefined) return refuse('the guardian has no clock')
    if (isStopping()) return refuse('the daemon is stopping')
    if (identity?.() === undefined) return refuse('the configuration in force is not that of a file')
    if (registry.departing.size > 0) return refuse('a removed virtual router still answers for its addresses', true)
    const yielding = registry.all.find(({ priority }) => priority.yieldingUntil !== undefined)
    if (yielding !== undefined) return refuse(`virtual router ${yielding.name} yields`)
    const moving = registry.all.find(({ clock, holds }) => holds && !clock.isArmed)
    if (moving !== undefined) return refuse(`virtual router ${moving.name} is not at rest`, true)
    return this.#record(port) ?? refuse('a virtual router is not at rest', true)
  }

  /** Returns `undefined` if something about the place of an Active is unknown. */
  #record(port: RestartPort): RestartOrder | undefined {
    const { board, registry } = this.#context
    const { identity, version = 'unknown' } = this.#context.ports
    const known = identity?.()
    const active = registry.all.filter(({ clock }) => clock.isArmed)
    const routers = active.flatMap((router) => recordOf(router, port) ?? [])
    if (known === undefined || routers.length < active.length) return undefined
    const checks = board.kept().map(({ weight, ...check }) => ({ ...check, ...(weight !== undefined && { weight }) }))
    return { claims: routers, text: writeRecord({ version, identity: known, routers, checks }) }
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
