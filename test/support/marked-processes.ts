/** Processes with a given text in their environment. A new session of a process keeps its environment. */
import { readdirSync, readFileSync } from 'node:fs'

export type MarkedProcess = { readonly pid: number; readonly name: string }

/** Lists the processes with the mark. A zombie is not among them, because it has no environment. */
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

/** Lists the programs that were started, without the launcher that runs them. */
export const programsOf = (mark: string): MarkedProcess[] =>
  markedProcesses(mark).filter(({ name }) => name !== 'holdfast-launch')
