/** Histories for the tests of the judge, written down in one line. */
import type { History, Sight } from '../../../src/lab/watch/history.ts'

export type Step = readonly [holders: string, until: number]

/** "r1" until 1000, "r1 r2" until 1300, … */
export function history(...steps: readonly Step[]): Sight[] {
  return steps.map(([names, to], i) => ({
    from: steps[i - 1]?.[1] ?? 0,
    to,
    holders: names.split(' ').filter(Boolean),
  }))
}

/** With nothing else to be seen. */
export const seen = (holders: readonly Sight[]): History => {
  return { address: 'v', holders, unanswered: [], stranded: [], blind: [] }
}
