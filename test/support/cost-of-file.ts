/**
 * Measures the CPU and wall time of one test file, and the CPU time that the machine did not give to it. The figures go
 * into the file's report (`meta`) for test/support/history-reporter.ts and summary-reporter.ts. Vitest loads this
 * module before each test file (`setupFiles`). Outside the unit tests, each test file has a process of its own. All
 * unit tests share two processes, so the figures of a file count from the end of the file before.
 */
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeEach } from 'vitest'
import { beginTest, type Loss, lossOfTest, watchMachine } from '../judge/time.ts'

/**
 * Cost of a test file in milliseconds: wall time, CPU time of the test process, and CPU time of the ended programs that
 * the file has started.
 */
export type FileCost = { readonly wall: number; readonly own: number; readonly programs: number }

declare module 'vitest' {
  interface TaskMeta {
    cost?: FileCost
    /** CPU time that the machine did not give to the test, or to the file, while it ran. */
    loss?: Loss
  }
}

/**
 * Milliseconds in one unit of /proc/self/stat. USER_HZ of Linux is 100 on every architecture for which holdfast is
 * built.
 */
const JIFFY = 10

/**
 * Returns the CPU time in ms of the ended children of this process: fields 16 and 17 of /proc/self/stat
 * (proc_pid_stat(5)).
 */
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
