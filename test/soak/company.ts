/**
 * Disturbances of the soak by other programs of the machine. The namespaces of these programs are created and deleted,
 * and take the lock that changes of addresses need (RTNL). The host takes time from the CPUs, and the observer itself
 * may not run for a moment. Disturbances are reported beside a violation, and never excuse it.
 */
import { type FSWatcher, watch } from 'node:fs'
import { monotonicMs } from '../../src/lab/wait.ts'
import type { WitnessRecord } from '../../src/lab/watch/witness.ts'
import { stolenMs } from '../judge/time.ts'

const NAMESPACES = '/run/netns'
/** Milliseconds that the kernel may take to remove a namespace. */
const BEFORE = 1_000
/** Milliseconds between two measurements of the stolen time. */
const LOOK = 100

export class Company {
  readonly #seen: { readonly at: number; readonly name: string }[] = []
  readonly #watcher: FSWatcher
  /** Stolen time between two measurements, if there was any. */
  readonly #thefts: Theft[] = []
  readonly #timer: NodeJS.Timeout

  /** Starts the watch. `own` is the beginning of the names of this soak's namespaces. */
  constructor(own: string) {
    this.#watcher = watch(NAMESPACES, (_, name) => {
      if (name !== null && !name.startsWith(own)) this.#seen.push({ at: monotonicMs(), name })
    })
    let [lookedAt, known] = [monotonicMs(), stolenMs()]
    this.#timer = setInterval(() => {
      const [at, stolen] = [monotonicMs(), stolenMs()]
      if (stolen > known) this.#thefts.push({ from: lookedAt, to: at, ms: stolen - known })
      lookedAt = at
      known = stolen
    }, LOOK)
  }

  /** Returns the ms that the host took from all CPUs, from shortly before to shortly after the period. */
  stolen(from: number, to: number): number {
    return stolenBetween(this.#thefts, from, to)
  }

  /** Returns the number of namespaces that were created or deleted in the period. */
  near(from: number, to: number): number {
    return this.#seen.filter(({ at }) => at > from - BEFORE && at < to).length
  }

  get count(): number {
    return this.#seen.length
  }

  close(): void {
    this.#watcher.close()
    clearInterval(this.#timer)
  }
}

export type Theft = { readonly from: number; readonly to: number; readonly ms: number }

/** Returns the stolen time. The kernel counts it when the CPU runs again, and in whole ticks. */
export function stolenBetween(thefts: readonly Theft[], from: number, to: number): number {
  const near = thefts.filter((theft) => theft.to > from && theft.from < to + LOOK)
  return near.reduce((sum, { ms }) => sum + ms, 0)
}

export function circumstancesOf(
  { address, from, to }: { readonly address: string; readonly from: number; readonly to: number },
  records: readonly WitnessRecord[],
  company: Pick<Company, 'near' | 'stolen'>,
): string {
  const blind = records
    .filter((record) => record.address === address)
    .flatMap((record) => record.blind)
    .reduce((sum, sight) => sum + Math.max(0, Math.min(to, sight.to) - Math.max(from, sight.from)), 0)
  const others = company.near(from, to)
  const stolen = company.stolen(from, to)
  const parts = [
    ...(stolen > 0 ? [`${stolen} ms of the CPUs were stolen then`] : []),
    ...(blind > 0 ? [`the observer did not run for ${blind.toFixed(0)} ms of it`] : []),
    ...(others > 0 ? [`${others} namespaces of others came or went in the second before`] : []),
  ]
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`
}
