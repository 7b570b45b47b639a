/**
 * What labs leave on a machine: network namespaces, and folders for files, all named PREFIX PID x…. Removes those whose
 * process is dead.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './command.ts'

/** Where iproute2 binds the namespaces that have a name. */
const NAMESPACES = '/run/netns'

/** Names of all namespaces of this machine that start so. */
export function namespacesStarting(prefix: string): string[] {
  try {
    return readdirSync(NAMESPACES).filter((name) => name.startsWith(prefix))
  } catch {
    return []
  }
}

/** Ends what runs in the namespace, then removes it. True when it is gone. */
export function removeNamespace(name: string): boolean {
  try {
    for (const pid of run(['ip', 'netns', 'pids', name]).split('\n').filter(Boolean)) {
      try {
        process.kill(Number(pid), 'SIGKILL')
      } catch {
        // It ended by itself between the two calls.
      }
    }
    run(['ip', 'netns', 'delete', name])
    return true
  } catch {
    return !namespacesStarting(name).includes(name)
  }
}

/** A zombie is dead: what it left is nobody's any more, even where nobody reaps it. */
function lives(pid: string): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Removes what runs that were killed have left: namespaces, and folders for files, called PREFIX PID x…. */
export function sweepLeftovers(prefix: string): void {
  const isLeft = (name: string) => {
    const pid = name.startsWith(prefix) ? /^(\d+)x/.exec(name.slice(prefix.length))?.[1] : undefined
    return pid !== undefined && !lives(pid)
  }
  for (const name of namespacesStarting(prefix).filter(isLeft)) removeNamespace(name)
  for (const name of readdirSync(tmpdir()).filter(isLeft))
    rmSync(join(tmpdir(), name), { recursive: true, force: true })
}
