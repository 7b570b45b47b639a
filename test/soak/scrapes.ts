/**
 * The scraper of the soak (test/support/soak-scraper.mjs) and its records. Decides which scrapes may fail: those of a
 * node whose process or path is away. This file does not know the scraped values.
 */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Lab } from '../../src/lab/lab.ts'
import type { Injected } from '../chaos/chaos-run.ts'
import { median } from './flatness.ts'
import { apiOf } from './soak-node.ts'
import type { SoakFault, SoakKind } from './soak-plan.ts'

export type Scrape = {
  readonly node: string
  readonly path: string
  /** Time of the request, and duration of the answer; monotonicMs(). */
  readonly at: number
  readonly ms: number
  /** Problem of the scrape; `undefined` after a complete answer with status 200. */
  readonly problem: string | undefined
}

export class Scraper {
  readonly scrapes: Scrape[] = []
  readonly #child: ChildProcess

  constructor(lab: Lab) {
    const names = new Map(lab.routers.map((host) => [apiOf(host), host.name]))
    const script = join(packageRoot(), 'test', 'support', 'soak-scraper.mjs')
    this.#child = lab.spawn(lab.host('outsider'), [process.execPath, script, ...names.keys()], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const { stdout } = this.#child
    if (stdout === null) throw new Error('Cannot read what the scraper says')
    createInterface({ input: stdout }).on('line', (line) => {
      const { address, path, at, ms, status, problem } = JSON.parse(line)
      const wrong = problem ?? (status === 200 ? undefined : `status ${status}`)
      this.scrapes.push({ node: names.get(address) ?? address, path, at, ms, problem: wrong })
    })
  }

  /** Returns the number of answers of that node so far, without failed scrapes. */
  answers(node: string): number {
    return this.scrapes.filter((one) => one.node === node && one.problem === undefined).length
  }

  run(on: boolean): void {
    this.#child.stdin?.write(on ? 'go on\n' : 'pause\n')
  }
}

/** Milliseconds that the scraper waits for an answer. */
const PATIENCE = 5_500
/** Time in ms after which the process is started again, or the packet is sent again. */
const BACK: Partial<Record<SoakKind, number>> = {
  stop: 4_000,
  'kill engine': 4_000,
  'link flap': 4_000,
  partition: 4_000,
}

export type ScrapeAccount = {
  readonly count: number
  readonly failed: number
  /** Median duration of successful scrapes in ms. */
  readonly median: number
  readonly longest: number
  /** Scrapes that failed although the node had no fault. */
  readonly wrong: readonly string[]
}

export function accountOf(
  scrapes: readonly Scrape[],
  injected: readonly Injected<SoakFault>[],
  zero: number,
): ScrapeAccount {
  const failed = scrapes.filter(({ problem }) => problem !== undefined)
  const excused = ({ node, at }: Scrape) =>
    injected.some(({ fault, at: from, end }) => {
      const back = BACK[fault.kind]
      return back !== undefined && fault.node === node && at > from - PATIENCE && at < end + back
    })
  const lengths = scrapes.flatMap(({ ms, problem }) => (problem === undefined ? [ms] : []))
  return {
    count: scrapes.length,
    failed: failed.length,
    median: median(lengths),
    longest: lengths.reduce((longest, ms) => Math.max(longest, ms), 0),
    wrong: failed
      .filter((scrape) => !excused(scrape))
      .map(
        ({ node, path, at, problem }) =>
          `${node} ${path} at ${((at - zero) / 1_000).toFixed(1)} s: expected an answer, saw ${problem}`,
      ),
  }
}
