/**
 * Plays test vectors on the model of keepalived (src/simulator/keepalived/keepalived-daemon.ts). All these vectors were
 * also replayed on keepalived 2.2.7. The module returns packets, announcements and states with their times: those of
 * the model, and those of the recording. This file decides how the model receives a vector. This file itself expects
 * nothing.
 */
import { announcementIn } from '../../src/arp/probe.ts'
import type { Config } from '../../src/config/config.ts'
import type { CheckState } from '../../src/daemon/health/check-board.ts'
import { KeepalivedDaemon } from '../../src/simulator/keepalived/keepalived-daemon.ts'
import { encodeAdvertisement } from '../../src/vrrp/packet.ts'
import { type Address, address, familyOf } from '../../src/wire/address.ts'
import { parseMac } from '../../src/wire/mac.ts'
import { centis, millis } from '../../src/wire/units.ts'
import { read } from '../support/keepalived-text.ts'

/** A packet, announcement or state as a line of text; `at` in whole microseconds. */
export type Line = { readonly at: number; readonly text: string }
export type Told = {
  readonly vrid: number
  readonly from: string
  readonly version: 2 | 3
  readonly priority: number
  readonly interval: number
  readonly addresses: readonly Address[]
  readonly valid?: boolean
}

const MAC = parseMac('02:00:00:00:00:01') ?? never()
const WORDS: Readonly<Record<string, string>> = { Active: 'MASTER', Backup: 'BACKUP', Fault: 'FAULT', Stopped: 'STOP' }
const GROUP = { ipv4: address('224.0.0.18'), ipv6: address('ff02::12') }

function never(): never {
  throw new Error('No such MAC')
}

export function configOf(text: string): Config {
  const parsed = read(text)
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}

/** Returns the state of a check or a tracked file; `undefined` means that there is no result yet. */
export const checkState = (state: 'up' | 'down' | undefined, weight?: number): CheckState => ({
  ...{ result: state ?? 'undecided', countsAs: state ?? 'nothing', since: millis(0), weight },
})

export class ModelReplay {
  readonly lines: Line[] = []
  readonly checks = new Map<string, CheckState>()
  readonly down = new Set<string>()
  readonly #daemon: KeepalivedDaemon
  readonly #present = new Set<Address>()
  readonly #primary: readonly Address[]
  #now = 0
  #carrier = true

  constructor(text: string, primary: readonly string[]) {
    const config = configOf(text)
    this.#primary = primary.map(address)
    const addresses = this.#primary.map((each) => ({ address: each, prefixLength: 24 }))
    const hasCarrier = () => this.#carrier
    const kernel = {
      get carrier() {
        return hasCarrier()
      },
      mac: MAC,
      has: (wanted: Address) => this.#present.has(wanted),
      put: (wanted: { address: Address }) => this.#present.size !== this.#present.add(wanted.address).size,
      remove: (wanted: { address: Address }) => this.#present.delete(wanted.address),
    }
    this.#daemon = new KeepalivedDaemon(
      config,
      { interfaces: [{ name: 'eth0', mtu: 1500, addresses }] },
      {
        ...{ kernel, check: (name) => this.checks.get(name), isUp: (name) => !this.down.has(name) },
        send: (carried) => {
          if (carried.kind === 'frame') return this.#write(`garp ${announcementIn(carried.bytes)?.address}`)
          this.#write(`advert ${nameOf(config, carried.bytes[1])} ${carried.bytes[2]}`)
        },
        onAnnounce: () => {},
        onState: (instance, state, priority) => this.#write(`INSTANCE "${instance}" ${WORDS[state]} ${priority}`),
      },
    )
  }

  #write(text: string): void {
    this.lines.push({ at: this.#now, text })
  }

  /** Returns the names of the nodes whose kernel has the address. */
  has(vip: string): boolean {
    return this.#present.has(address(vip))
  }

  get deadline(): number {
    return Math.floor(this.#daemon.deadline * 1_000)
  }

  /** Runs every event that is due before the time `at`; with `inclusive`, also the events at that time. */
  until(at: number, inclusive: boolean): void {
    for (let fired = 0; fired < 10_000; fired++) {
      const due = this.#daemon.deadline
      const dueAt = Math.floor(due * 1_000)
      if (inclusive ? dueAt > at : dueAt >= at) return
      this.#now = dueAt
      this.#daemon.expire(due)
    }
    throw new Error(`Cannot reach ${at} us: too many deadlines fired`)
  }

  start(at: number): void {
    this.#at(at, (now) => this.#daemon.start(now))
  }

  stop(at: number): void {
    this.#at(at, () => this.#daemon.stop())
  }

  /** Changes the state of something that the node tracks, at the time `at`. */
  retrack(at: number, change: () => void): void {
    this.#at(at, (now) => {
      change()
      this.#daemon.retrack(now)
    })
  }

  setCarrier(at: number, carrier: boolean): void {
    this.retrack(at, () => {
      this.#carrier = carrier
    })
  }

  /** Delivers an advertisement to the node at the time `at`: to the VRRP group, or as unicast to the node's address. */
  hear(at: number, { addresses, from, interval, priority, valid = true, version, vrid }: Told, unicast: boolean): void {
    const source = address(from)
    const family = familyOf(source)
    const own = this.#primary.find((each) => familyOf(each) === family) ?? source
    const destination = unicast ? own : GROUP[family]
    const advertisement = { version, vrid, priority, interval: centis(interval), addresses }
    const bytes = encodeAdvertisement(advertisement, { source, destination, checksum: 'pseudo-header' })
    if (!valid) bytes[6] = (bytes[6] ?? 0) ^ 0x55
    this.#at(at, (now) => this.#daemon.receive({ kind: 'vrrp', family, source, destination, ttl: 255, bytes }, now))
  }

  #at(at: number, act: (now: number) => void): void {
    this.until(at, false)
    this.#now = at
    act(at / 1_000)
  }
}

const nameOf = (config: Config, vrid: number | undefined): string =>
  config.virtualRouters.find((router) => router.vrid === vrid)?.name ?? '?'

export type Observed = { readonly missing: readonly Line[]; readonly extra: readonly Line[] }

/** Returns the recording of the real keepalived; `undefined` if the vector has no recording that can be compared. */
export function observedOf(text: string): Observed | undefined {
  if (text.startsWith('as expected')) return { missing: [], extra: [] }
  const [, missing, extra] = /^differs: missing \[(.*?)\] extra \[(.*?)\]$/.exec(text) ?? []
  if (missing === undefined || extra === undefined) return undefined
  return { missing: linesOf(missing), extra: linesOf(extra) }
}

/** Parses recorded lines such as "+3.504s advert V1 prio 255; +3.504s garp 198.51.100.1". */
const linesOf = (text: string): Line[] =>
  text
    .split('; ')
    .filter((each) => each !== '')
    .map((each) => {
      const [, seconds, what] = /^\+([\d.]+)s (.*)$/.exec(each) ?? []
      if (seconds === undefined || what === undefined) throw new Error(`Cannot read "${each}"`)
      return { at: Math.round(Number(seconds) * 1e6), text: what.replace(/^advert (\w+) prio (\d+)$/, 'advert $1 $2') }
    })

/**
 * Returns true if two lines are equal within the tolerance. A line without a priority equals a line with any priority,
 * because the recordings shorten some lines.
 */
const same = (one: Line, other: Line, tolerance: number): boolean =>
  (one.text === other.text || one.text.startsWith(`${other.text} `) || other.text.startsWith(`${one.text} `)) &&
  Math.abs(one.at - other.at) <= tolerance

/** Returns those lines that have no equal line among the others. */
export function without(lines: readonly Line[], others: readonly Line[], tolerance: number): Line[] {
  const rest = [...others]
  return lines.filter((line) => {
    const found = rest.findIndex((other) => same(line, other, tolerance))
    if (found >= 0) rest.splice(found, 1)
    return found < 0
  })
}
