/**
 * What else went on on the machine: namespaces of others that came and went (they take the lock that changes of addresses
 * need, RTNL), moments in which the observer itself did not run. Told beside a violation, never an excuse for it.
 */
import { type FSWatcher, watch } from 'node:fs'
import { monotonicMs } from '../support/wait.ts'
import type { WitnessRecord } from '../support/witness.ts'

const NAMESPACES = '/run/netns'
/** The kernel takes a namespace down in its own time. */
const BEFORE = 1_000

export class Company {
  readonly #seen: { readonly at: number; readonly name: string }[] = []
  readonly #watcher: FSWatcher

  /** `own`: how names of this soak's namespaces begin. */
  constructor(own: string) {
    this.#watcher = watch(NAMESPACES, (_, name) => {
      if (name !== null && !name.startsWith(own)) this.#seen.push({ at: monotonicMs(), name })
    })
  }

  /** How many came or went. */
  near(from: number, to: number): number {
    return this.#seen.filter(({ at }) => at > from - BEFORE && at < to).length
  }

  get count(): number {
    return this.#seen.length
  }

  close(): void {
    this.#watcher.close()
  }
}

export function circumstancesOf(
  { address, from, to }: { readonly address: string; readonly from: number; readonly to: number },
  records: readonly WitnessRecord[],
  company: Pick<Company, 'near'>,
): string {
  const blind = records
    .filter((record) => record.address === address)
    .flatMap((record) => record.blind)
    .reduce((sum, sight) => sum + Math.max(0, Math.min(to, sight.to) - Math.max(from, sight.from)), 0)
  const others = company.near(from, to)
  const parts = [
    ...(blind > 0 ? [`the observer did not run for ${blind.toFixed(0)} ms of it`] : []),
    ...(others > 0 ? [`${others} namespaces of others came or went in the second before`] : []),
  ]
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`
}
