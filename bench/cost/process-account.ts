/**
 * Measures the resources of a daemon with all its processes: the CPU time of running and ended processes, and the
 * memory of each running process. This file decides that CPU time comes from a cgroup of version 2 if one can be
 * created (exact to a microsecond, with ended children), otherwise from /proc/PID/stat. This file does not know which
 * daemon is measured.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { familyOf } from '../../src/lab/logged-process.ts'
import { groupCpuSeconds, groupMount, groupPath, memoryOf, statOf } from './process-text.ts'
import type { ProcessMemory } from './result.ts'

const PREFIX = 'hfcost'
let created = 0

function removeQuietly(group: string): void {
  try {
    rmdirSync(group)
  } catch {
    // The cgroup still has a process, or was removed already. An empty cgroup costs nothing.
  }
}

/** Removes the cgroups that interrupted runs of the benchmark have left. */
function sweepGroups(parent: string): void {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(PREFIX))) {
    const pid = /^(\d+)x\d+$/.exec(name.slice(PREFIX.length))?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeQuietly(join(parent, name))
  }
}

function groupHere(): string | undefined {
  try {
    const mount = groupMount(readFileSync('/proc/self/mountinfo', 'utf8'))
    if (mount === undefined) return undefined
    const parent = join(mount, groupPath(readFileSync('/proc/self/cgroup', 'utf8')))
    if (created === 0) sweepGroups(parent)
    const folder = join(parent, `${PREFIX}${process.pid}x${++created}`)
    mkdirSync(folder)
    return folder
  } catch {
    // This process cannot create a cgroup, which is usual in a container.
    return undefined
  }
}

export class ProcessAccount {
  readonly #pid: number
  readonly #group = groupHere()
  readonly counted: 'cgroup' | 'stat'

  /** Starts to count the CPU time of the process, of its descendants, and of descendants that start later. */
  constructor(pid: number) {
    this.#pid = pid
    this.counted = this.#group === undefined || !this.#enter(this.#group) ? 'stat' : 'cgroup'
  }

  #enter(group: string): boolean {
    try {
      for (const each of familyOf(this.#pid)) writeFileSync(join(group, 'cgroup.procs'), `${each}`)
      return groupCpuSeconds(readFileSync(join(group, 'cpu.stat'), 'utf8')) !== undefined
    } catch {
      return false
    }
  }

  cpuSeconds(): number {
    if (this.counted === 'cgroup' && this.#group !== undefined)
      return groupCpuSeconds(readFileSync(join(this.#group, 'cpu.stat'), 'utf8')) ?? Number.NaN
    return familyOf(this.#pid).reduce((sum, pid) => {
      try {
        return sum + statOf(readFileSync(`/proc/${pid}/stat`, 'utf8')).cpuSeconds
      } catch {
        // The process has ended since it was listed, and its CPU time is now part of its parent's.
        return sum
      }
    }, 0)
  }

  memory(): readonly ProcessMemory[] {
    return familyOf(this.#pid).flatMap((pid) => {
      try {
        const { name, threads } = statOf(readFileSync(`/proc/${pid}/stat`, 'utf8'))
        const memory = memoryOf(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
        return memory === undefined ? [] : [{ name, threads, ...memory }]
      } catch {
        return []
      }
    })
  }

  /** Removes the cgroup. Must be called only after all processes in the cgroup have ended. */
  close(): void {
    if (this.#group !== undefined) removeQuietly(this.#group)
  }
}
