/**
 * Measures one failover from outside: three routers, one accident to the first router, and the observations of a client
 * and an observer. This file decides which scenarios exist, their order, and when the group is ready for an accident.
 * This file does not know how an accident is done and which daemon runs.
 *
 * Every daemon is configured alike: the same version (3), interval, priorities and transport, addresses on eth0, all
 * preempting, everything else with the daemon's own default. keepalived has no garp_*, no vrrp_garp_* and no
 * higher_prio option.
 */
import type { Daemon, RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { startDaemon } from '../../src/lab/daemons/start-daemon.ts'
import type { Lab, LabView } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import {
  type Accident,
  ANY,
  type Cell,
  type Company,
  downMs,
  EQUAL,
  kindsOf,
  type Outcome,
  PRIORITIES,
  type Run,
  type Special,
  type Stage,
  type Theory,
} from './accident.ts'
import { FLEET_ACCIDENTS } from './accident-fleet.ts'
import { inLab } from './accident-lab.ts'
import { LOAD_ACCIDENTS } from './accident-load.ts'
import { PATH_ACCIDENTS } from './accident-path.ts'
import { PLANNED_ACCIDENTS } from './accident-planned.ts'
import { PROCESS_ACCIDENTS } from './accident-process.ts'
import { CHECK_ACCIDENTS } from './check-scenario.ts'
import type { Turn } from './company.ts'
import { inComposeLab, uncomposed } from './compose-lab.ts'
import { addressOf, type Observation, prepareFamily, startObservation, vipOf } from './observation.ts'

/** Kinds of hosts in a lab: network namespaces, or the containers of docker-compose.yml. */
export const PLACES = ['netns', 'compose'] as const
export type Where = (typeof PLACES)[number]

/**
 * Longest start of a group in milliseconds. Groups of three daemons start slowly on a busy machine, and a run that
 * fails at its start is lost.
 */
const START = 30_000

const ACCIDENTS: readonly (Accident | Special)[] = [
  ...PROCESS_ACCIDENTS,
  ...PLANNED_ACCIDENTS,
  ...PATH_ACCIDENTS,
  ...CHECK_ACCIDENTS,
  ...LOAD_ACCIDENTS,
  ...FLEET_ACCIDENTS,
]
export const SCENARIOS: readonly string[] = ACCIDENTS.map(({ name }) => name)

function accidentOf({ scenario }: Pick<Cell, 'scenario'>): Accident | Special {
  const accident = ACCIDENTS.find(({ name }) => name === scenario)
  if (accident === undefined) throw new Error(`Cannot find scenario "${scenario}": have ${SCENARIOS.join(', ')}`)
  return accident
}

export const titleOf = (scenario: string): string => accidentOf({ scenario }).title
/**
 * Returns what the VRRP protocol alone predicts for the cell. The accident comes at a random moment between two
 * advertisements.
 */
export const theory = (cell: Cell): Theory => accidentOf(cell).theory(cell)
/** Returns for how many milliseconds the LAN is observed after the accident. */
export const windowMs = (cell: Cell): number => accidentOf(cell).windowMs(cell)
/**
 * Milliseconds that preparing an accident takes: it waits for the last announcement of the takeover before, and for a
 * second takeover.
 */
const PREPARING = 6_000
/** Returns the approximate length of a run in ms, without start and end of the lab. */
export function lengthMs(cell: Cell): number {
  const accident = accidentOf(cell)
  const prepared = 'measure' in accident || accident.prepare !== undefined
  return (prepared ? PREPARING + 4 * downMs(cell) : 0) + accident.windowMs(cell)
}
export const companyOf = (cell: Cell): Company => accidentOf(cell).company ?? ANY
/** Returns why the cell cannot be measured; `undefined` if it can be measured. */
export function unsupported(cell: Cell, where: Where = 'netns'): string | undefined {
  const accident = accidentOf(cell)
  return (where === 'compose' ? uncomposed(cell) : undefined) ?? accident.unsupported?.(cell)
}

function plans(lab: LabView, { family, intervalMs }: Cell, { equal, realtime }: Accident['group'] & {}): RouterPlan[] {
  return lab.routers.map((host, i) => ({
    ...{ host, intervalMs, address: vipOf(family), priority: equal === true ? EQUAL : (PRIORITIES[i] ?? 1) },
    ...(equal === true
      ? {
          unicastPeers: lab.routers.filter((other) => other !== host).map((other) => addressOf(other, family)),
          unicastSource: addressOf(host, family),
        }
      : {}),
    ...(realtime === true ? { realtime } : {}),
  }))
}

/** Resolves when only the node `name` has answered the client for `forMs` milliseconds. */
function answers(observation: Observation, name: string, forMs: number, within: number): Promise<true> {
  const steady = () => {
    const last = observation.holders.at(-1)
    return last?.name === name && monotonicMs() - last.at >= forMs
  }
  return eventually(`${name} to answer for ${forMs.toFixed(0)} ms`, steady, {
    sight: () => observation.holders,
    within: within + forMs,
    every: 20,
  })
}

function relay(lab: LabView): void {
  const on = 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
  for (const host of lab.routers) lab.exec(host, ['sh', '-c', on])
}

type Start = (position: number, plan: RouterPlan) => Daemon

/** Returns the function that runs daemons as programs in the network namespaces of this lab. */
const asPrograms =
  (lab: Lab, cell: Cell): Start =>
  (position, plan) =>
    startDaemon(kindsOf(cell)[position === 1 ? 0 : 1] ?? 'holdfast', lab, plan)

async function happen(accident: Accident, cell: Cell, lab: LabView, startOne: Start, turn: Turn): Promise<Run> {
  const { group = {} } = accident
  prepareFamily(lab, cell.family)
  if (cell.family === 6) await lab.addressesSettle()
  if (group.forward === true) relay(lab)
  const planned = plans(lab, cell, group)
  const plan = (position: number): RouterPlan => {
    const one = planned[position - 1]
    if (one === undefined) throw new Error(`Cannot find router ${position}`)
    return one
  }
  const start = (position: number) => startOne(position, plan(position))
  const within = START + 6 * downMs(cell)
  const are = (daemons: readonly Daemon[], wanted: string) => {
    const states = async () => (await Promise.all(daemons.map((daemon) => daemon.state()))).join()
    return eventually(`the routers to be ${wanted}`, async () => (await states()) === wanted, {
      sight: states,
      within,
      every: 20,
    })
  }

  const daemons = [start(1)]
  // Among routers with equal priority, the router that starts first becomes Active.
  if (group.equal === true) await are(daemons, 'Active')
  daemons.push(start(2), start(3))
  const cachedNeighbour = group.freshNeighbour !== true
  const observation = await startObservation(lab, { family: cell.family, cachedNeighbour })
  try {
    await Promise.all(daemons.map((daemon) => daemon.ready(START)))
    await are(daemons, 'Active,Backup,Backup')
    await turn.ready()
    // A router that became Backup a moment ago does not use fastPreempt.
    await answers(observation, 'r1', 300 + downMs(cell), within)
    const restart = (position: number): Daemon => {
      const daemon = start(position)
      daemons[position - 1] = daemon
      return daemon
    }
    const stage: Stage = { cell, lab, daemons, observation, plan, restart }
    await accident.prepare?.(stage)
    await sleep(Math.random() * cell.intervalMs)
    const { before = accident.prepare === undefined ? 'r1' : observation.holder } = accident
    if (observation.holder !== before)
      throw new Error(
        `${observation.holder} answers before anything has happened: ${JSON.stringify(observation.holders)}`,
      )
    const struck = await accident.strike(stage)
    const { at, meanwhile } = typeof struck === 'number' ? { at: struck, meanwhile: undefined } : struck
    const [measurement, figures] = await Promise.all([observation.measure(at, accident.windowMs(cell)), meanwhile])
    await turn.over()
    return figures === undefined ? measurement : { ...measurement, figures }
  } finally {
    await observation.close()
  }
}

/**
 * Measures one run of the cell and returns its outcome. The run starts and ends together with the labs that run beside
 * it (`turn`).
 */
export async function measure(cell: Cell, turn: Turn, where: Where = 'netns'): Promise<Outcome> {
  const accident = accidentOf(cell)
  const reason = unsupported(cell, where)
  if (reason !== undefined) return { unsupported: reason }
  if ('measure' in accident) return accident.measure(cell, turn)
  if (where === 'compose')
    return inComposeLab((lab) => happen(accident, cell, lab, (position, plan) => lab.start(position, plan), turn))
  return inLab((lab) => happen(accident, cell, lab, asPrograms(lab, cell), turn))
}
