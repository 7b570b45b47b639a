/** Processes that have a word in their environment, wherever they went: a new session takes it along. */
import { readdirSync, readFileSync } from 'node:fs'

export type MarkedProcess = { readonly pid: number; readonly name: string }

/** A zombie has no environment any more. */
export function markedProcesses(mark: string): MarkedProcess[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return []
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)) return []
      return [{ pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, 'latin1').trim() }]
    } catch {
      return []
    }
  })
}

/** What a program has started, without the launcher that runs it. */
export const programsOf = (mark: string): MarkedProcess[] =>
  markedProcesses(mark).filter(({ name }) => name !== 'holdfast-launch')
