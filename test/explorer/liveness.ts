/**
 * Computes the future of a world without further faults: stalled nodes wake, every message arrives without a delay, and
 * deadlines end in their order. Without further faults, a world has exactly one future. The duration of this future is
 * the time to the next world plus the duration from there, and known worlds are not computed again. A stopped node
 * stays off, unless no node is left.
 */
import { type Action, after, arrivalOf, dueOf, nextDue } from './actions.ts'
import { Parts } from './identity.ts'
import type { Machine } from './node-step.ts'
import { sourceOf } from './settings.ts'
import { Column, Rows, Shared } from './table.ts'
import { EVERYBODY, type Setting, type World } from './world.ts'

/**
 * Milliseconds until a node is Active (`active`), and until the final state (`settled`). In the final state the right
 * node is the only Active, and every other node follows it.
 */
export type Future = { readonly active: number; readonly settled: number }
/**
 * Future of a world. The field `anew` is true if the last running node also stops. The time then counts from the next
 * start of a node.
 */
type Known = Future & { readonly anew: boolean }
type Passed = {
  readonly row: number
  readonly isActive: boolean
  readonly elapsed: number
  readonly starts: boolean
}

/** Largest number of steps in a future. A world with more steps never reaches a final state. */
const MOST_STEPS = 400

export class Futures {
  readonly #parts: Parts
  readonly #setting: Setting
  readonly #machine: Machine
  /** Nodes and wire of each world whose future is known, including the worlds on the way. */
  readonly #rows = new Rows(4)
  readonly #ends = new Shared<Known>()
  /** Number of the future of each row, plus one; 0 while the future is unknown. */
  readonly #endOf = new Column()

  constructor(setting: Setting, machine: Machine, parts = new Parts()) {
    this.#setting = setting
    this.#machine = machine
    this.#parts = parts
  }

  of(world: World): Future {
    const path: Passed[] = []
    let now: World = calm(world)
    let end: Known | undefined
    for (;;) {
      const numbers = this.#parts.numbersOf(now)
      const row = this.#rows.numberOf(numbers)
      end = this.#knownOf(row) ?? (isSettled(now, this.#setting) ? AT_REST : undefined)
      if (end !== undefined) break
      const action = next(now)
      if (action === undefined || path.length > MOST_STEPS) {
        end = NEVER
        break
      }
      const elapsed = action.kind === 'expire' ? Math.max(0, nextDue(now)) : 0
      path.push({ row, isActive: hasActive(now), elapsed, starts: action.kind === 'restart' })
      now = after({ ...now, ...this.#parts.of(numbers) }, action, this.#setting, this.#machine)
    }
    for (const { elapsed, isActive, row, starts } of path.reverse()) {
      const spent: number = end.anew ? 0 : elapsed
      const anew: boolean = end.anew || starts
      // If the Active leaves the LAN and no node takes over, that node is not the expected Active.
      end = { active: isActive && !anew ? 0 : spent + end.active, settled: spent + end.settled, anew }
      this.#endOf.set(row, this.#ends.numberOf(end) + 1)
    }
    return end
  }

  #knownOf(row: number): Known | undefined {
    if (row === this.#endOf.length) this.#endOf.push(0)
    const end = this.#endOf.at(row)
    return end === 0 ? undefined : this.#ends.at(end - 1)
  }

  /** Returns the events of a future that takes too long, for the report to a person. */
  *told(world: World): Generator<readonly [Action, World]> {
    let now = calm(world)
    for (let steps = 0; steps < 60 && !isSettled(now, this.#setting); steps++) {
      const action = next(now)
      if (action === undefined) return
      now = after(now, action, this.#setting, this.#machine)
      yield [action, now]
    }
  }
}

const AT_REST: Known = { active: 0, settled: 0, anew: false }
const NEVER: Known = { active: Number.POSITIVE_INFINITY, settled: Number.POSITIVE_INFINITY, anew: false }
const calm = (world: World): World => ({
  ...world,
  wire: world.wire.some(({ held }) => held) ? world.wire.map((each) => ({ ...each, held: false })) : world.wire,
  cut: [],
})
const hasActive = ({ nodes }: World): boolean =>
  nodes.some(({ running, stalled, state }) => running && !stalled && state.name === 'Active')

function next(world: World): Action | undefined {
  const { nodes, wire } = world
  const stalled = EVERYBODY.find((who) => nodes[who].stalled)
  if (stalled !== undefined) return { kind: 'wake', who: stalled }
  const [message] = wire
  if (message !== undefined) return { kind: arrivalOf(message), from: message.from, to: message.to }
  const due = nextDue(world)
  const who = EVERYBODY.find((each) => dueOf(nodes[each]) === due)
  if (who !== undefined) return { kind: 'expire', who }
  const off = EVERYBODY.find((each) => !nodes[each].running)
  return off === undefined ? undefined : { kind: 'restart', who: off }
}

/** Returns true if the Active will always advertise before the Active_Down_Interval of any other node ends. */
function isSettled({ nodes, wire }: World, setting: Setting): boolean {
  if (wire.length > 0) return false
  const running = EVERYBODY.filter((who) => nodes[who].running)
  const [active, ...others] = running.filter((who) => nodes[who].state.name === 'Active')
  if (active === undefined || others.length > 0) return false
  const { state } = nodes[active]
  if (state.name !== 'Active') return false
  return running.every((who) => {
    if (who === active) return true
    const follower = nodes[who]
    const { preempt } = setting.parameters(who, follower.priority)
    if (follower.stalled || follower.holds || follower.state.name !== 'Backup') return false
    if (follower.state.active?.source !== sourceOf(active) || follower.state.activeDownAt <= state.adverAt) return false
    // Nodes with equal priority do not preempt each other: the address decides only between two Actives.
    return !(preempt && follower.priority > nodes[active].priority)
  })
}

/**
 * Returns the longest allowed times in ms. By then, the node with the longest wait has waited. Every Returning node has
 * asked for the address before, and all other nodes have received the answer. A Leaving node begins to wait when it has
 * left. A node that follows a router of lower priority for a while begins to wait when that while ends.
 */
export function bounds({ interval, preemptDelay }: Setting, { nodes }: World): Future {
  const [stagger, asking] = [2 * 3, 20]
  const waited = 4 * interval + stagger + asking
  const leaving = nodes.some(({ state }) => state.name === 'Leaving') ? 2 * interval + stagger : 0
  const following = preemptDelay > 0 ? preemptDelay + 4 * interval + stagger : 0
  return { active: waited, settled: waited + leaving + following }
}
