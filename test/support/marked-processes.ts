/** Finds processes by a text in their environment. A process keeps its environment when it starts a new session. */
import { readdirSync, readFileSync } from 'node:fs'

export type MarkedProcess = { readonly pid: number; readonly name: string }

/** Returns the processes whose environment contains the mark. A zombie has no environment, so it is not among them. */
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

/** Returns the marked programs that were started, without the launcher processes that started them. */
export const programsOf = (mark: string): MarkedProcess[] =>
  markedProcesses(mark).filter(({ name }) => name !== 'holdfast-launch')
