/**
 * Measures how long two nodes are Active together, or both answer, while they could receive each other. "One exchange"
 * is the time in which two nodes have advertised once and have received each other's advertisement. This file decides
 * what keeps two nodes from receiving each other, and the longest allowed time. This file does not know why a node has
 * its state.
 */
import type { State } from '../../src/vrrp/state.ts'
import { isAwake, NAMES, type Node, type Overlap, PAIRS, placeOf, type Setting, type Who, type World } from './world.ts'

/**
 * Milliseconds after the winner's advertisement in which a losing or leaving node still answers (lingering.ts,
 * leaving.ts).
 */
const ANSWERS_ON = 20

type Pair = { readonly from: Who; readonly to: Who }

/** Updates the overlaps of a world. `lost`: the two nodes whose message was lost in the last event. */
export function withOverlaps(world: World, lost: Pair | undefined): World {
  const overlaps = (before: World['reigns'], does: (node: Node) => boolean) =>
    PAIRS.map((pair, i): Overlap | undefined => {
      const [one, other] = [world.nodes[pair[0]], world.nodes[pair[1]]]
      if (!does(one) || !does(other)) return undefined
      // A stalled node receives nothing, so its overlap is counted again from 0 when the node wakes.
      const deaf = !isAwake(one) || !isAwake(other)
      if (deaf || (lost !== undefined && isOf(lost, pair)) || isHeldUp(world, pair))
        return { for: 0, undisturbed: false }
      return before[i] ?? { for: 0, undisturbed: true }
    })
  const reigns = overlaps(world.reigns, ({ running, state }) => running && state.name === 'Active')
  return { ...world, reigns, answers: overlaps(world.answers, ({ holds }) => holds) }
}

const isOf = ({ from, to }: Pair, pair: readonly Who[]): boolean => pair.includes(from) && pair.includes(to)
/** Returns true if a message between the two nodes is delayed, or cut in either direction. */
const isHeldUp = ({ cut, wire }: World, [one, other]: readonly [Who, Who]): boolean =>
  wire.some((each) => each.held && isOf(each, [one, other])) ||
  cut.some((place) => place === placeOf({ from: one, to: other }) || place === placeOf({ from: other, to: one }))

/** Adds `ms` to the overlaps of an earlier world. While a message is delayed or cannot arrive, no time is added. */
export function lengthened(world: World, overlaps: World['reigns'], ms: number): World['reigns'] {
  return overlaps.map((each, i) => {
    const pair = PAIRS[i]
    return each === undefined || pair === undefined || isHeldUp(world, pair) ? each : { ...each, for: each.for + ms }
  })
}

/**
 * Returns true if a node in this state answers for the address. The effects of the state machine must have the same
 * result.
 */
function answersIn(state: State): boolean {
  if (state.name === 'Backup') return state.stillAnswered !== undefined
  return state.name === 'Active' || (state.name === 'Leaving' && state.stillAnswered.length > 0)
}

/**
 * Returns the allowed time of an overlap in ms: for one exchange, and after a disturbance until the next regular
 * advertisement.
 */
export function allowed({ undisturbed }: Overlap, { exchange, interval }: Setting): number {
  return undisturbed ? exchange : interval + exchange
}

export function unsafe(world: World, setting: Setting): string | undefined {
  for (const [i, pair] of PAIRS.entries()) {
    const [one, other] = pair.map((who) => NAMES[who])
    const [reign, answer] = [world.reigns[i], world.answers[i]]
    if (reign !== undefined && reign.for > allowed(reign, setting)) {
      return `${one} and ${other} are Active and hear each other for ${reign.for} ms: at most ${allowed(reign, setting)} expected`
    }
    if (answer !== undefined && answer.for > allowed(answer, setting) + ANSWERS_ON) {
      return `${one} and ${other} answer for ${answer.for} ms: at most ${allowed(answer, setting) + ANSWERS_ON} expected`
    }
  }
  for (const [i, { holds, running, state }] of world.nodes.entries()) {
    const expected = running && answersIn(state)
    if (holds !== expected)
      return `${NAMES[i]} ${holds ? 'answers' : 'does not answer'} in ${running ? state.name : 'no state'}`
  }
  return undefined
}
