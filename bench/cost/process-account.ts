/**
 * Resources of a daemon with all its processes: CPU time of the present and the past ones, memory of each. This file
 * decides that a cgroup counts (version 2, to the microsecond, with ended children) if one can be made, otherwise
 * /proc/PID/stat. This file does not know the daemon.
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
    // The group still has a process, or is gone. An empty group costs nothing.
  }
}

/** Removes groups of interrupted runs. */
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
    // Groups cannot be made here, which is usual in a container.
    return undefined
  }
}

export class ProcessAccount {
  readonly #pid: number
  readonly #group = groupHere()
  readonly counted: 'cgroup' | 'stat'

  /** Counts the process and its descendants, present and future. CPU time counts from now. */
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
        // The process ended meanwhile, and its parent has its time now.
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

  /** Call when all its processes are gone. */
  close(): void {
    if (this.#group !== undefined) removeQuietly(this.#group)
  }
}
