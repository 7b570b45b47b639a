/**
 * Inflicts the fault of each row of the crash matrix on r1, and returns the beginning and the end of the fault. Decides
 * the order of the rows: a row that needs a new engine follows a row that killed the old engine. This file does not
 * know the expected outcome of a fault.
 */

import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { NodeFault } from '../judge/lone.ts'
import type { CrashNode, Victim } from './crash-node.ts'

/**
 * Beginning and end of a fault on the clock of the witness, in ms. Beginning and end are the same for a fault without
 * an end.
 */
export type Inflicted = { readonly at: number; readonly end: number }

export type Row = {
  readonly fault: NodeFault
  readonly inflict: (node: CrashNode) => Promise<Inflicted>
  /** Node options for an engine that can receive this fault. */
  readonly nodeOptions?: string
  /** Expected exit status of `holdfast run`; `undefined` if the daemon does not end. */
  readonly status?: number | null
}

const dead = (name: string, guardian: 'lives' | 'dies' = 'lives', ms = 0): NodeFault => {
  return { name, engine: 'dies', guardian, ms }
}

const done = (at: number): Inflicted => ({ at, end: at })

export function killedEngine(signal: NodeJS.Signals, status: number): Row {
  return {
    fault: dead(`${signal} of the engine`),
    status,
    async inflict(node) {
      const at = monotonicMs()
      node.signal(['engine'], signal)
      return done(at)
    },
  }
}

export function stopped(victims: readonly Victim[], ms: number, status?: number): Row {
  const stateOf = (victim: Victim) => (victims.includes(victim) ? 'stops' : 'lives')
  const name = `SIGSTOP of ${victims.length > 1 ? 'both' : `the ${victims.join()}`} for ${ms} ms`
  return {
    fault: { name, engine: stateOf('engine'), guardian: stateOf('guardian'), ms },
    ...(status === undefined ? {} : { status }),
    async inflict(node) {
      const at = monotonicMs()
      const send = node.signal(victims, 'SIGSTOP')
      await sleep(ms)
      const end = monotonicMs()
      send('SIGCONT')
      return { at, end }
    },
  }
}

export function blocked(ms: number): Row {
  return {
    fault: { name: `event loop blocked for ${ms} ms`, engine: 'stops', guardian: 'lives', ms },
    async inflict(node) {
      const at = await node.misbehave(`block ${ms}`)
      await sleep(at + ms - monotonicMs())
      return { at, end: at + ms }
    },
  }
}

export function killedGuardian(): Row {
  return {
    fault: { name: 'SIGKILL of the guardian', engine: 'lives', guardian: 'dies', ms: 0 },
    status: null,
    async inflict(node) {
      const at = monotonicMs()
      node.signal(['guardian'], 'SIGKILL')
      return done(at)
    },
  }
}

export function killedBoth(): Row {
  return {
    fault: dead('SIGKILL of both', 'dies'),
    status: null,
    async inflict(node) {
      const at = monotonicMs()
      node.killGroup()
      return done(at)
    },
  }
}

/** Old space of 64 MiB. The small heap is full after some tenths of a second; a default heap would take hours. */
const SMALL_HEAP = '--max-old-space-size=64'

export const DYING: readonly Row[] = [
  killedEngine('SIGKILL', 137),
  killedEngine('SIGSEGV', 139),
  {
    fault: dead('uncaught exception in the engine'),
    status: 1,
    inflict: async (node) => done(await node.misbehave('throw')),
  },
  {
    fault: dead('heap exhausted', 'lives', 1),
    status: 134,
    nodeOptions: SMALL_HEAP,
    async inflict(node) {
      const at = await node.misbehave('eat')
      const { at: end } = await node.process.exited
      return { at, end }
    },
  },
  killedGuardian(),
  killedBoth(),
  stopped(['guardian'], 5_000, 1),
]

export const AWAY: readonly Row[] = [
  blocked(50),
  stopped(['engine'], 200),
  stopped(['guardian'], 200),
  stopped(['engine', 'guardian'], 200),
  blocked(500),
  stopped(['engine'], 5_000),
  blocked(5_000),
  stopped(['engine', 'guardian'], 5_000),
]
