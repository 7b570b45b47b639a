/**
 * Makes random numbers from a seed. The functions use only whole-number arithmetic and products, because Math.log and
 * ** may differ between machines. Every purpose has its own sequence of random numbers. Because of separate sequences,
 * if a fault is taken out, the other faults stay the same.
 */

export type Chance = () => number

/** Returns a function that makes random numbers from 0 (included) to 1 (excluded), by the algorithm mulberry32. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns the FNV-1a hash of a text. `from`: hash of the text before it. */
export function hashOf(text: string, from = 0x811c9dc5): number {
  let hash = from >>> 0
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  return hash
}

export const streamOf = (seed: number, purpose: string): Chance => chanceOf(hashOf(purpose, seed ^ 0x9e3779b9))

export const between = (chance: Chance, from: number, to: number): number =>
  Math.floor(from + chance() * (to - from + 1))

export const pick = <T>(chance: Chance, choice: readonly [T, ...T[]]): T =>
  choice[Math.floor(chance() * choice.length)] ?? choice[0]

/**
 * Returns a random duration between `from` and `to`, in the same unit. Short durations are as frequent as long ones:
 * first the magnitude is chosen, then the duration within it. The function uses no logarithm.
 */
export function lasting(chance: Chance, from: number, to: number): number {
  const steps: number[] = [from]
  for (let step = from * 3; step < to; step *= 3) steps.push(step)
  const at = Math.floor(chance() * steps.length)
  const low = steps[at] ?? from
  return Math.round(low + chance() * (Math.min(low * 3, to) - low))
}
