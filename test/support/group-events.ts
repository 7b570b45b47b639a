/**
 * Plays events of a group of nodes that read a keepalived file, one after the other. For each event it measures for how
 * long no node, or more than one node, had the virtual address (docs/mixed-groups.md). This file decides the events,
 * their order and the measured values. This file does not know which figures are good.
 */

import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { BOOTSTRAP, FileGroup, type FileKind, type Row } from './file-group.ts'

export const LINE_UPS = ['holdfast', 'mixed', 'keepalived'] as const
export type LineUp = (typeof LINE_UPS)[number]

/** Daemons of the group's members and, in the last position, of the bootstrap node. */
const KINDS: Readonly<Record<LineUp, readonly FileKind[]>> = {
  holdfast: ['holdfast', 'holdfast', 'holdfast', 'holdfast'],
  mixed: ['keepalived', 'holdfast', 'keepalived', 'holdfast'],
  keepalived: ['keepalived', 'keepalived', 'keepalived', 'keepalived'],
}
const MEMBERS = [1, 2, 3] as const
const BOOTSTRAP_NODE = 4

export type Cell = { readonly lineUp: LineUp; readonly row: Row }

/** Expected movement of the virtual address at an event. `holds`: the address does not move. */
export type Outcome = 'comes' | 'moves' | 'holds'

export type Measured = {
  readonly event: string
  readonly outcome: Outcome
  /**
   * Daemon of the node to which the event happens. If the address does not move and the event concerns several nodes,
   * the daemon of the holder.
   */
  readonly kind: FileKind
  readonly from: string | undefined
  readonly to: string
  /** Milliseconds from the event until only the new holder answered. */
  readonly took: number
  /** Longest times in ms in which no node answered (`nobody`), and in which two or more nodes answered (`several`). */
  readonly nobody: number
  readonly several: number
  /** Names of the nodes that answered at the same time as another node. */
  readonly competing: readonly string[]
  /** Longest time in ms in which a client with a neighbour entry got no answer. */
  readonly silence: number
}

/**
 * Limit in ms for an event: keepalived's 3 × interval + Skew_Time after two failed checks, and time for a busy machine.
 */
const WITHIN = 30_000
const STEADY = 300

class Course {
  readonly measured: Measured[] = []
  readonly #group: FileGroup
  readonly #kinds: readonly FileKind[]

  constructor(group: FileGroup, kinds: readonly FileKind[]) {
    this.#group = group
    this.#kinds = kinds
  }

  kindOf(name: string): FileKind {
    return this.#kinds[this.#group.positionOf(name) - 1] ?? 'keepalived'
  }

  get holder(): string {
    const holder = this.#group.holder()
    if (holder === undefined) throw new Error('Cannot go on: not exactly one node answers')
    return holder
  }

  async comes(event: string, cause: () => Promise<unknown>): Promise<void> {
    const at = monotonicMs()
    await cause()
    const to = await this.#group.settles(event, STEADY, WITHIN)
    this.#note(event, 'comes', undefined, to, at)
  }

  /** Plays an event that moves the virtual address from the holder to another node. */
  async moves(event: string, cause: (holder: string) => unknown): Promise<void> {
    const from = this.holder
    const at = monotonicMs()
    await cause(from)
    const to = await this.#group.settles(event, STEADY, WITHIN, (name) => name !== from)
    this.#note(event, 'moves', from, to, at)
  }

  /** Plays an event after which the holder keeps the virtual address for `ms` milliseconds. */
  async holds(event: string, cause: (holder: string) => unknown, ms: number): Promise<void> {
    const from = this.holder
    const at = monotonicMs()
    await cause(from)
    await sleep(ms)
    this.#note(event, 'holds', from, this.#group.holder() ?? 'nobody alone', at)
  }

  #note(event: string, outcome: Outcome, from: string | undefined, to: string, at: number): void {
    const group = this.#group
    const until = monotonicMs()
    const moved = group
      .holders()
      .find((span) => span.at >= at && span.holders.length > 0 && !span.holders.includes(from ?? ''))
    const took = moved === undefined ? 0 : moved.at - at
    this.measured.push({
      ...{ event, outcome, from, to, kind: this.kindOf(from ?? to) },
      took,
      // Before the first node has the virtual address, a time without a holder is no outage.
      nobody: outcome === 'comes' ? took : group.longest((count) => count === 0, at, until),
      several: group.longest((count) => count > 1, at, until),
      competing: group.competing(at, until).map((name) => `${name} ${this.kindOf(name)}`),
      silence: group.silence(at, until).longest,
    })
  }
}

/**
 * Plays the events of a group. Throws, with a report of the group's history, if an event does not end with exactly one
 * holder.
 */
export async function playEvents(
  { lineUp, row }: Cell,
  opened: (group: FileGroup) => void,
): Promise<readonly Measured[]> {
  const group = new FileGroup(row, MEMBERS.length, 1)
  opened(group)
  const kinds = KINDS[lineUp]
  const course = new Course(group, kinds)
  const kindAt = (position: number) => kinds[position - 1] ?? 'keepalived'
  const start = (name: string) => group.start(group.positionOf(name), course.kindOf(name))
  const startAll = () => Promise.all(MEMBERS.map((position) => group.start(position, kindAt(position))))
  let gone = ''
  const goes = (how: (position: number) => Promise<unknown>) => (holder: string) => {
    gone = holder
    return how(group.positionOf(holder))
  }
  /** Milliseconds for three successful runs of a check, a second apart, and two advertisements. */
  const recovered = 3_500

  await course.comes('cold start of three nodes', startAll)
  await sleep(2 * row.intervalMs)
  await course.moves(
    'SIGTERM of the holder',
    goes((position) => group.stop(position)),
  )
  await course.holds('it is started again', () => start(gone), recovered)
  await course.moves(
    'SIGKILL of the holder',
    goes((position) => group.kill(position)),
  )
  await course.holds('it is started again after SIGKILL', () => start(gone), recovered)
  for (const [check, how] of [
    ['serves', 'its weight is taken away'],
    ['lives', 'FAULT'],
  ] as const) {
    await course.moves(`a check of the holder fails: ${how}`, (holder) => {
      gone = holder
      group.setCheck(holder, check, false)
    })
    await course.holds(`it passes again (${check})`, () => group.setCheck(gone, check, true), recovered)
  }
  await course.moves('the bootstrap node (70, in nobody’s list) is started', () =>
    group.start(BOOTSTRAP_NODE, kindAt(BOOTSTRAP_NODE), { priority: BOOTSTRAP, peers: MEMBERS, checks: false }),
  )
  await course.holds('it stays beside them', () => {}, 3 * row.intervalMs)
  await course.moves('SIGTERM of the bootstrap node', () => group.stop(BOOTSTRAP_NODE))
  const reloadAll = (peers: readonly number[]) => {
    for (const position of MEMBERS) group.reload(position, { peers })
  }
  await course.holds('SIGHUP of all, same file', () => reloadAll(MEMBERS), 2_500)
  if (row.transport === 'unicast')
    await course.holds('SIGHUP of all, a peer added', () => reloadAll([...MEMBERS, BOOTSTRAP_NODE]), 2_500)
  return course.measured
}
