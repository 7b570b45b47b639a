/** Defines the properties that must hold in each state of the clock's model. */
import { LONGEST, PRIORITY, type State, type Step, TICKS } from './state.ts'

export function problemOf(before: State, { text, next }: Step): string | undefined {
  if (text.startsWith('clock sends') && !before.address && before.held !== PRIORITY.release && !before.seen.torn)
    return 'the clock advertises an address that the node does not have'
  const isStale = before.held !== before.says && before.lastWord === before.says
  if (text.startsWith('clock sends') && before.engine === 'Active' && isStale && !before.seen.torn)
    return 'the clock contradicts the last word of the engine'
  if (text.startsWith('clock sends') && before.slept && !before.seen.torn) return 'the clock advertises after a sleep'
  const unread = before.engineQueue.length > 0 || before.between !== undefined
  if (text.startsWith('clock sends') && before.guardianQueue === 0 && unread)
    return 'the clock advertises although it has read news that the engine has not'
  if (text.startsWith('clock sends') && before.lostNews && before.guardianQueue === 0 && !before.seen.torn)
    return 'the clock advertises against a frame that no engine has read'
  if (!text.startsWith('---')) return undefined
  const undisturbed = !next.seen.engine && !next.seen.guardian && !next.seen.both && !next.seen.slept
  const ordered = next.says !== PRIORITY.high || next.demoted
  if (next.engine === 'Active' && !next.stopped.engine && next.lastWord !== next.says)
    return `the LAN has heard priority ${next.lastWord} last, the engine means ${next.says}`
  const longestSilence = next.forged ? TICKS.interval + 1 : TICKS.interval
  if (undisturbed && !ordered && next.sent > longestSilence) return `no frame for ${next.sent} ticks`
  if (next.away > TICKS.lease + TICKS.deadline + 1 && next.address && next.plan === 'armed' && !next.seen.guardian)
    return 'an absent engine has an address after its lease and its deadline'
  if (next.waited > TICKS.adoption && next.address && !next.seen.guardian)
    return 'an address waits for an engine after its time'
  if (undisturbed && !ordered && next.engine !== 'Active') return 'a healthy node has lost its address'
  if (!ordered && next.peerActive && !next.seen.engine && !next.seen.slept)
    return 'a node whose guardian stands still has lost its address'
  if (
    next.says !== PRIORITY.high &&
    !next.seen.slept &&
    !next.seen.engine &&
    !next.peerActive &&
    next.sinceWord > 2 * TICKS.skew &&
    next.sinceWord < LONGEST.word &&
    !next.seen.torn
  )
    return `no successor ${next.sinceWord} ticks after the node's word`
  if (!next.seen.both && !next.seen.slept && next.two > bound(next)) return `two holders for ${next.two} ticks`
  // If engine and guardian both stand still, the kernel removes the address, and the peer takes over after its own
  // timer alone.
  const longest = next.seen.both ? TICKS.activeDown : 2 * TICKS.skew
  if (next.none > longest && !next.seen.torn) return `no holder for ${next.none} ticks`
  return undefined
}

/**
 * Returns the longest allowed time with two holders, in ticks. If an engine stops between the withdrawal of its cleanup
 * plan and the removal of the address, only the kernel's lifetime ends the address.
 */
const bound = (state: State) => (state.plan === 'none' ? TICKS.lifetime + 1 : TICKS.deadline + 1)
