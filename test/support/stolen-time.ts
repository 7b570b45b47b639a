/**
 * Time in which whoever runs this virtual machine gave its CPUs to others (/proc/stat, "steal"): nothing in here runs then,
 * real-time processes neither, and the kernel counts it as nobody's waiting. Decides that it excuses a missed bound once, and
 * never in silence. Refuses to know the bounds.
 */
import { readFileSync } from 'node:fs'

/** USER_HZ is 100 on every architecture that Linux has here. */
const JIFFY = 10

/** In ms, of all CPUs, since the start of the machine; 0 where the kernel does not say. */
export function stolenMs(): number {
  try {
    const [, , , , , , , , steal = '0'] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)
    return JIFFY * Number(steal)
  } catch {
    return 0
  }
}

/** Two advertisements of 10 ms: below that no bound can have been missed because of it. */
export const STOLEN = 20

export type Play<T> = {
  readonly play: () => Promise<T>
  /** In words; none: all is well. */
  readonly missed: (result: T) => readonly string[]
  /** Told what was missed and how much was stolen meanwhile, of every play that missed something. */
  readonly tell: (text: string) => void
  readonly clock?: () => number
}

/** Plays once more what missed something while time was stolen; what is missed then, or without any theft, is missed. */
export async function playDespiteTheft<T>({ play, missed, tell, clock = stolenMs }: Play<T>): Promise<T> {
  const once = async (): Promise<{
    readonly result: T
    readonly stolen: number
    readonly wrong: readonly string[]
  }> => {
    const before = clock()
    const result = await play()
    return { result, stolen: clock() - before, wrong: missed(result) }
  }
  const told = (occasion: string, stolen: number, wrong: readonly string[]) =>
    tell([`${occasion} (${stolen} ms of the CPUs were stolen meanwhile), it missed:`, ...wrong].join('\n'))
  const first = await once()
  if (first.wrong.length === 0) return first.result
  const excused = first.stolen >= STOLEN
  told(excused ? 'played again' : 'not played again', first.stolen, first.wrong)
  if (!excused) return first.result
  const second = await once()
  if (second.wrong.length > 0) told('missed again', second.stolen, second.wrong)
  return second.result
}
