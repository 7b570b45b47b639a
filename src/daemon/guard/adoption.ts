/**
 * Adopts the routers of an engine that crashed (docs/adr/0088) or was replaced (docs/adr/0096). The guardian's clock
 * still advertises for them, and the kernel has their addresses. This file decides which routers are adopted: those for
 * which nothing has changed since. All other routers start as usual, and the guardian executes the cleanup plans that
 * the other engine made for these routers.
 */
import type { Config } from '../../config/config.ts'
import { heldAddresses } from '../../config/schema/virtual-address.ts'
import { LOG } from '../../log/log.ts'
import type { Address } from '../../wire/address.ts'
import { type Millis, millis } from '../../wire/units.ts'
import { isUp, type NetworkView } from '../addresses/network-view.ts'
import type { Kept } from '../health/check-board.ts'
import type { Inheritance, RestartPort } from '../ports.ts'
import type { Membership } from '../router/membership.ts'
import { applySteps } from '../router/post-event.ts'
import type { Registry } from '../router/registry.ts'
import type { Router } from '../router/router.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { type RestartRecord, type RouterRecord, readRecord } from './restart-record.ts'

export type AdoptionContext = {
  readonly port: RestartPort | undefined
  readonly config: Config
  readonly identity: string | undefined
  /** Version of holdfast. */
  readonly version: string
  readonly view: Pick<NetworkView, 'linkNamed'>
  readonly recorder: Pick<Recorder, 'log' | 'chronicle'>
}

export class Adoption {
  readonly #context: AdoptionContext
  readonly #record: RestartRecord | undefined
  /** Stored records by the name of their router, for those routers whose interface and clock did not change since the record. */
  readonly #candidates: ReadonlyMap<string, RouterRecord>

  /** The caller must have read the links of the node. */
  constructor(context: AdoptionContext) {
    this.#context = context
    this.#record = this.#read()
    const routers = this.#record?.routers ?? []
    const changed = new Set(routers.flatMap((each) => (this.#isUnchanged(each) ? [] : [each.unit])))
    this.#candidates = new Map(routers.flatMap((each) => (changed.has(each.unit) ? [] : [[each.name, each]])))
  }

  get #inherited(): Inheritance | undefined {
    return this.#context.port?.inherited
  }

  /** Number of restarts since the guardian started. */
  get restarts(): number {
    return this.#inherited?.restarts ?? 0
  }

  /** Records of all routers that the clock advertises for. No other router may get their slots and units. */
  get records(): readonly RouterRecord[] {
    return this.#record?.routers ?? []
  }

  /** Records of the routers that may be adopted. */
  get candidates(): readonly RouterRecord[] {
    return [...this.#candidates.values()]
  }

  /** Addresses of the routers that may be adopted. */
  get addresses(): ReadonlySet<Address> {
    return this.#addressesOf((name) => this.#candidates.has(name))
  }

  #addressesOf(wanted: (name: string) => boolean): ReadonlySet<Address> {
    const { virtualRouters } = this.#context.config
    return new Set(virtualRouters.filter(({ name }) => wanted(name)).flatMap(heldAddresses))
  }

  /** Addresses of the candidates that were not adopted. */
  refused(adopted: readonly string[]): ReadonlySet<Address> {
    return this.#addressesOf((name) => this.#candidates.has(name) && !adopted.includes(name))
  }

  /**
   * Results of the health checks at the end of the engine before. The record of a crash is older than the last report, so
   * the time of the crash stands for that report. The record of an upgrade is new.
   */
  get checks(): readonly Kept[] {
    const { crashedAt = millis(0), isUpgrade = false } = this.#inherited ?? {}
    const checks = this.#record?.checks ?? []
    return checks.map(({ heardAt, since, weight, ...check }) => {
      const heard = isUpgrade ? millis(Math.min(heardAt, crashedAt)) : crashedAt
      return { ...check, since: millis(since), heardAt: heard, weight }
    })
  }

  /** Adopts candidates that were added, placed and not started. Returns the names of the adopted routers. */
  adopt({ groups }: Pick<Registry, 'groups'>, now: Millis): readonly string[] {
    if (this.#candidates.size === 0) return []
    const adopted = [...groups].filter((group) => this.#adopts(group))
    for (const group of adopted) this.#adopt(group, now)
    return adopted.flatMap(({ members }) => members.map(({ name }) => name))
  }

  /** Reports the restart to guardian, log and journal. The caller has run the effects of the adoption. */
  settle(routers: readonly string[], now: Millis): void {
    const inherited = this.#inherited
    if (inherited === undefined) return
    const { port, recorder } = this.#context
    port?.settled()
    const { isUpgrade, restarts, signal } = inherited
    const ms = Math.round(now - inherited.crashedAt)
    if (isUpgrade) return this.#reportUpgrade(routers, ms)
    const cause = signal === undefined ? 'exited' : `was killed by signal ${signal}`
    recorder.log(LOG.engineAdopted, `The engine ${cause} and was started again ${ms} ms ago: ${keptText(routers)}`, {
      ...{ routers: [...routers], silent: ms, restarts },
      ...(signal !== undefined && { signal }),
    })
    recorder.chronicle.record({ kind: 'engineRestarted', routers: [...routers], tookMs: ms, restarts })
  }

  #reportUpgrade(routers: readonly string[], ms: number): void {
    const { recorder, version } = this.#context
    const { version: from = 'unknown' } = this.#record ?? {}
    const text = `Version ${from} was replaced by version ${version} ${ms} ms ago: ${keptText(routers)}`
    recorder.log(LOG.engineUpgraded, text, { from, to: version, routers: [...routers], silent: ms })
    recorder.chronicle.record({ kind: 'engineUpgraded', routers: [...routers], tookMs: ms, from, to: version })
  }

  #read(): RestartRecord | undefined {
    const { config, identity, recorder } = this.#context
    const inherited = this.#inherited
    if (inherited === undefined || config.lease !== 'on') return undefined
    if (!inherited.isUpgrade && config.onCrash !== 'restart') return undefined
    const record = readRecord(inherited.text)
    if (record !== undefined && record.identity === identity) return record
    const why =
      record === undefined
        ? 'its record cannot be read'
        : 'the configuration file has changed since it was loaded, and its present content is in force now'
    recorder.log(LOG.engineNotAdopted, `The addresses that the previous engine held are released: ${why}`, {
      reason: why,
    })
    return undefined
  }

  #isUnchanged({ carrierChanges, generation, interfaceIndex, interfaceName, mac, slot, unit }: RouterRecord): boolean {
    const { port, view } = this.#context
    const link = view.linkNamed(interfaceName)
    if (port === undefined || link === undefined || !isUp(link)) return false
    const isSameLink = link.index === interfaceIndex && link.mac === mac
    if (!isSameLink || port.carrierChanges(interfaceName) !== carrierChanges) return false
    return port.isArmed(unit) && port.claim(slot)?.generation === generation
  }

  #adopts({ cleanup, members }: Membership<Router>): boolean {
    return members.every(({ clock, faults, io, name, parameters, state }) => {
      const record = this.#candidates.get(name)
      if (record === undefined || io === undefined || state.name !== 'Initialize' || faults.size > 0) return false
      const isSame = record.priority === parameters.priority && record.source === parameters.primaryAddress
      return (
        isSame &&
        io.interfaceName === record.interfaceName &&
        cleanup.unit === record.unit &&
        clock.slot === record.slot
      )
    })
  }

  #adopt(group: Membership<Router>, now: Millis): void {
    const steps = group.members.map((member) => {
      const since = millis(this.#candidates.get(member.name)?.since ?? now)
      return member.adopt(since, now, this.#inherited?.isUpgrade === true ? 'engineUpgraded' : 'engineRestarted')
    })
    applySteps(group, steps, now)
  }
}

const keptText = (routers: readonly string[]): string =>
  routers.length === 0 ? 'no address was kept' : `kept the addresses of ${routers.join(', ')}`
