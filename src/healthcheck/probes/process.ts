/**
 * Probe for running processes, found by the process name in the kernel. The kernel reports the end of the processes
 * that the last run found (pidfd). Without a pidfd the probe polls these processes every WATCH_EVERY. This file decides
 * that a zombie does not count as running. A reused process id, or a process that has become another program, counts as
 * another process. Only processes of this PID namespace are visible, and the result text says so.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { millis } from '../../wire/units.ts'
import type { ProcessSpec } from '../check.ts'
import { asRun, type EventSource, monotonicNow, type Probe, type ProcessEnd, type WatchEnd } from '../probe.ts'
import type { ProbeResult } from '../probe-result.ts'

const WATCH_EVERY = 50
/** Limit of watched processes: each of them needs a descriptor. */
const MOST_WATCHED = 64
/** Number of octets of a process name in the kernel: TASK_COMM_LEN without the final NUL. */
const NAME_LENGTH = 15
/** Inode of the first PID namespace of every kernel. */
const HOST_NAMESPACE = 'pid:[4026531836]'

type Seen = { readonly pid: string; readonly name: string; readonly startedAt: string }

export function processProbe({ name, count }: ProcessSpec, watchEnd: WatchEnd): Probe {
  const wanted = Buffer.from(name).subarray(0, NAME_LENGTH).toString()
  let seen: readonly Seen[] = []

  async function ask(): Promise<ProbeResult> {
    const startedAt = monotonicNow()
    // The processes of the last run come first, because reading all of /proc is expensive.
    const still = seen.filter(isAlive)
    seen = still.length >= count ? still : await processesNamed(wanted)
    const latency = millis(monotonicNow() - startedAt)
    if (seen.length >= count) return { outcome: 'ok', reason: 'ok', detail: `${seen.length} × "${name}"`, latency }
    const detail = `${seen.length} × "${name}" run, required: ${count}${isHostNamespace() ? '' : " (this is not the host's PID namespace)"}`
    return { outcome: 'fail', reason: 'missing', detail, latency }
  }

  return { start: () => asRun(ask()), events: (onEvent) => new ProcessWatch(() => seen, watchEnd, onEvent) }
}

export function isHostNamespace(): boolean {
  try {
    return readlinkSync('/proc/self/ns/pid') === HOST_NAMESPACE
  } catch {
    return false
  }
}

/** Returns name, state and start time of /proc/PID/stat. The name is in parentheses, and may contain parentheses. */
export function parseStat(text: string): { name: string; state: string; startedAt: string } | undefined {
  const open = text.indexOf('(')
  const close = text.lastIndexOf(')')
  const rest = text.slice(close + 2).split(' ')
  const [state, startedAt] = [rest[0], rest[19]]
  if (open < 0 || close < open || state === undefined || startedAt === undefined) return undefined
  return { name: text.slice(open + 1, close), state, startedAt }
}

const isDead = (state: string): boolean => ['Z', 'X', 'x'].includes(state)

/**
 * Tells whether the process still runs under the same name: after fork a child has the name of its parent, until exec
 * gives the child another name.
 */
function isAlive({ pid, name, startedAt }: Seen): boolean {
  try {
    // Reading procfs does not wait for a disk.
    const now = parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return now !== undefined && now.name === name && now.startedAt === startedAt && !isDead(now.state)
  } catch {
    return false
  }
}

/**
 * Number of processes that are read at a time. A node may have thousands of processes, and other checks of this thread
 * need their turn.
 */
const BATCH = 64

async function processesNamed(name: string): Promise<Seen[]> {
  const found: Seen[] = []
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))
  for (const [index, pid] of pids.entries()) {
    if (index % BATCH === BATCH - 1) await setImmediate()
    try {
      const process = parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      if (process?.name === name && !isDead(process.state)) found.push({ pid, name, startedAt: process.startedAt })
    } catch {
      // The process ended while the list of processes was read.
    }
  }
  return found
}

class ProcessWatch implements EventSource {
  readonly #seen: () => readonly Seen[]
  readonly #watchEnd: WatchEnd
  readonly #onEvent: () => void
  #ends: readonly ProcessEnd[] = []
  #timer: NodeJS.Timeout | undefined
  #watched: readonly Seen[] = []

  constructor(seen: () => readonly Seen[], watchEnd: WatchEnd, onEvent: () => void) {
    this.#seen = seen
    this.#watchEnd = watchEnd
    this.#onEvent = onEvent
  }

  get armed(): boolean {
    return this.#watched.length > 0
  }

  afterRun({ outcome }: ProbeResult): void {
    const seen = this.#seen()
    if (outcome !== 'ok' || isDeepStrictEqual(seen, this.#watched)) return
    this.close()
    this.#watched = seen
    const ended = () => this.#ended()
    if (seen.length <= MOST_WATCHED) {
      const ends = seen.map(({ pid }) => this.#watchEnd(Number(pid), ended))
      this.#ends = ends.filter((end) => end !== undefined)
    }
    const all = this.#ends.length === seen.length
    // The found process ids may be reused already, or a process that cannot be watched may have ended. In these cases
    // an event follows immediately.
    if (!seen.every(isAlive)) this.#timer = setInterval(ended, 0)
    else if (!all) this.#timer = setInterval(() => seen.every(isAlive) || ended(), WATCH_EVERY)
  }

  close(): void {
    for (const end of this.#ends) end.close()
    this.#ends = []
    this.#watched = []
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #ended(): void {
    if (!this.armed) return
    this.close()
    this.#onEvent()
  }
}
