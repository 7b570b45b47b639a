/**
 * Messages to a service manager besides READY=1 and WATCHDOG=1, which the guardian sends (sd_notify(3)). The messages
 * to the service manager are a status line about the routers, the begin and end of a reload, and the stop. This file
 * decides the texts, and that several changes become one message. This file knows nothing about how messages are sent.
 */
import type { EventListener } from '../daemon/telemetry/chronicle.ts'
import type { RouterSummary } from '../daemon/telemetry/snapshot.ts'

/** Milliseconds in which several changes become one message, because a takeover changes several routers. */
const TOGETHER = 50
/** Milliseconds between two messages to the service manager, also while routers flap. */
const PACE = 1_000
/** Number of routers that a status line names. For more routers, only counts are reported. */
const MOST_NAMED = 4
const LONGEST = 300

export type ServiceManagerPorts = {
  readonly tell: (words: string) => void
  readonly routerSummaries: () => readonly RouterSummary[]
  readonly subscribe: (listener: EventListener) => unknown
}

export class ServiceManager {
  readonly #ports: ServiceManagerPorts
  #timer: NodeJS.Timeout | undefined
  #toldAt = Number.NEGATIVE_INFINITY
  /** Number of reloads in progress. */
  #reloads = 0
  #failure: string | undefined
  #leaving = false

  constructor(ports: ServiceManagerPorts) {
    this.#ports = ports
    ports.subscribe(({ kind }) => {
      if (kind === 'transition' || kind === 'faultChanged') this.#soon()
    })
    this.#soon()
  }

  /**
   * Reports begin and end of each reload, as Type=notify-reload requires. The service manager need not have ordered the
   * reload.
   */
  async reloading<Answer extends { readonly ok: boolean }>(
    reload: () => Promise<Answer & { readonly reason?: string }>,
  ): Promise<Answer> {
    this.#reloads++
    this.#ports.tell(`RELOADING=1\nMONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`)
    const answer = await reload()
    this.#failure = answer.ok ? undefined : answer.reason
    // A failed reload also ends with this message, for which the service manager waits.
    if (--this.#reloads === 0) this.#ports.tell(`READY=1\n${this.#status()}`)
    return answer
  }

  leaving(): void {
    this.#leaving = true
    this.#ports.tell(`STOPPING=1\n${this.#status()}`)
  }

  #soon(): void {
    const wait = Math.max(TOGETHER, this.#toldAt + PACE - performance.now())
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#toldAt = performance.now()
      this.#ports.tell(this.#status())
    }, wait).unref()
  }

  #status(): string {
    const leaving = this.#leaving ? 'Leaving. ' : ''
    const failure = this.#failure === undefined ? '' : `. Reload failed: ${this.#failure}`
    return `STATUS=${oneLine(`${leaving}${routersText(this.#ports.routerSummaries())}${failure}`)}`
  }
}

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ')
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`
}

export function routersText(routers: readonly RouterSummary[]): string {
  if (routers.length === 0) return 'No virtual router'
  if (routers.length <= MOST_NAMED) return routers.map(wordsOf).join('; ')
  const counts = new Map<string, string[]>()
  for (const { name, state } of routers) counts.set(state, [...(counts.get(state) ?? []), name])
  const told = [...counts].map(([state, names]) => `${names.length} ${state === 'Initialize' ? 'in fault' : state}`)
  const faults = counts.get('Initialize') ?? []
  const which = faults.length === 0 ? '' : `: ${faults.slice(0, MOST_NAMED).join(', ')}`
  return `${routers.length} virtual routers: ${told.join(', ')}${which}`
}

function wordsOf({ name, state, addresses, faults, follows }: RouterSummary): string {
  const [first = 'no address'] = addresses
  const others = addresses.length > 1 ? ` and ${addresses.length - 1} more` : ''
  switch (state) {
    case 'Active':
      return `${name} is Active with ${first}${others}`
    case 'Backup':
      return follows === null ? `${name} is Backup` : `${name} is Backup of ${follows}`
    case 'Initialize':
      return faults.length === 0 ? `${name} waits` : `${name} is in fault (${faults.join(', ')})`
    default:
      return `${name} is ${state}`
  }
}
