/**
 * Which worlds are the same. As text (frame.ts has given every value one form and one order), and as a number of
 * 53 bits: of ten million worlds two that differ share one with a probability of 1 in 180, and then one is not looked at.
 */
import type { World } from './world.ts'

export const textOf = (world: World): string => JSON.stringify(world)

/** Two multiplicative hashes of 32 bits, as in cyrb53. */
export function hashOf(text: string): number {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    high = Math.imul(high ^ code, 0x9e3779b1)
    low = Math.imul(low ^ code, 0x5f356495)
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  return 2 ** 32 * (low & 0x1fffff) + (high >>> 0)
}
