/**
 * Removes what killed labs have left on a machine: network namespaces and folders. The name of each is a prefix, the
 * process number of the process that created it, the letter x, and more text. Only namespaces and folders of ended
 * processes are removed. When this process ends in the middle of its work, its own namespaces and folders are removed
 * too.
 */

import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import { run } from './command.ts'

/** Folder in which iproute2 keeps a file for each named network namespace. */
const NAMESPACES = '/run/netns'

/** Returns the names of all network namespaces that begin with this prefix. */
export function namespacesStarting(prefix: string): string[] {
  try {
    return readdirSync(NAMESPACES).filter((name) => name.startsWith(prefix))
  } catch {
    return []
  }
}

/**
 * Returns the process numbers of all processes in these network namespaces. The function reads /proc once for all
 * namespaces, while `ip netns pids` would read /proc once for each.
 */
function processesIn(names: readonly string[]): number[] {
  const links = names.flatMap((name) => {
    const status = statSync(join(NAMESPACES, name), { throwIfNoEntry: false })
    return status === undefined ? [] : [`net:[${status.ino}]`]
  })
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return []
    try {
      return links.includes(readlinkSync(`/proc/${pid}/ns/net`)) ? [Number(pid)] : []
    } catch {
      return []
    }
  })
}

/**
 * Ends the processes in these network namespaces, then removes the namespaces. A namespace that does not exist is no
 * error.
 */
export function removeNamespaces(names: readonly string[]): void {
  if (names.length === 0) return
  for (const pid of processesIn(names)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended after it was listed.
    }
  }
  try {
    run(['ip', '-force', '-batch', '-'], names.map((name) => `netns delete ${name}\n`).join(''))
  } catch (error) {
    const left = names.filter((name) => namespacesStarting(name).includes(name))
    if (left.length > 0) throw error
  }
}

/**
 * Returns true if the process runs. A zombie counts as ended even if its parent never waits for it, because a zombie
 * uses no namespace and no folder.
 */
function lives(pid: string): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Removes the namespaces and folders that killed processes have left: those whose name begins with PREFIX PID x. */
export function sweepLeftovers(prefix: string): void {
  const isLeft = (name: string) => {
    const pid = name.startsWith(prefix) ? /^(\d+)x/.exec(name.slice(prefix.length))?.[1] : undefined
    return pid !== undefined && !lives(pid)
  }
  removeNamespaces(namespacesStarting(prefix).filter(isLeft))
  for (const name of readdirSync(tmpdir()).filter(isLeft))
    rmSync(join(tmpdir(), name), { recursive: true, force: true })
}

const cleanUps = new Set<() => void>()
let hooked = false

function cleanUpAll(): void {
  for (const cleanUp of [...cleanUps].reverse()) {
    try {
      cleanUp()
    } catch (error) {
      // A clean-up function has failed. After the failure, all other clean-up functions still run.
      process.stderr.write(`Cannot clean up: ${messageOf(error)}\n`)
    }
  }
  cleanUps.clear()
}

function hookEnds(): void {
  if (hooked) return
  hooked = true
  process.on('exit', cleanUpAll)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      cleanUpAll()
      process.kill(process.pid, signal)
    })
  }
}

/**
 * Registers a function to call when this process ends: by itself, by an uncaught error, or by SIGINT, SIGTERM or
 * SIGHUP. The function that was registered last is called first. Returns a function that removes the registration.
 */
export function cleanUpAtEnd(cleanUp: () => void): () => void {
  hookEnds()
  cleanUps.add(cleanUp)
  return () => cleanUps.delete(cleanUp)
}
