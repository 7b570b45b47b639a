/**
 * Measures what one test file costs and what the machine lost meanwhile, and leaves the figures in its report (`meta`) for
 * test/support/history-reporter.ts and summary-reporter.ts. Vitest loads this before each file (`setupFiles`). Outside the unit tests a file has a
 * process of its own; the unit tests share two processes, so each file counts from where the last one ended.
 */
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeEach } from 'vitest'
import { beginTest, type Loss, lossOfTest, watchMachine } from '../judge/time.ts'

/** Milliseconds: wall time, CPU time of the test process, and CPU time of the programs that it started and that have ended. */
export type FileCost = { readonly wall: number; readonly own: number; readonly programs: number }

declare module 'vitest' {
  interface TaskMeta {
    cost?: FileCost
    /** Time that the machine lost while the test, or the file, ran. */
    loss?: Loss
  }
}

/** USER_HZ is 100 on every architecture that Linux has here. */
const JIFFY = 10

/** Fields 16 and 17 of /proc/self/stat: CPU time of children that were waited for (proc_pid_stat(5)). */
function programsMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return JIFFY * (Number(fields[13]) + Number(fields[14]))
}

function sinceTheStart(): FileCost {
  const { system, user } = process.cpuUsage()
  return {
    wall: Math.round(process.uptime() * 1_000),
    own: Math.round((user + system) / 1_000),
    programs: programsMs(),
  }
}

const lossOfFile = watchMachine()

beforeEach(beginTest)
afterEach(({ task }) => {
  task.meta.loss = lossOfTest()
})

const shared = globalThis as { costOfEarlierFiles?: FileCost }

// Vitest runs hooks of one kind in the reverse order, so this hook runs last.
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from the text of this parameter.
afterAll(({}, { file }) => {
  const earlier = shared.costOfEarlierFiles ?? { wall: 0, own: 0, programs: 0 }
  const now = sinceTheStart()
  shared.costOfEarlierFiles = now
  file.meta.loss = lossOfFile()
  file.meta.cost = {
    wall: now.wall - earlier.wall,
    own: now.own - earlier.own,
    programs: now.programs - earlier.programs,
  }
})
