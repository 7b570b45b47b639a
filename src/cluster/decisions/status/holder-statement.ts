/**
 * Decides what this node's agent publishes about one virtual address, from the report of its own engine. A holder
 * publishes itself immediately. A Backup corrects a published entry if it receives advertisements of another holder,
 * and clears the entry of an address without holder. A Backup waits for a delay that grows with its rank, so that only
 * one of N agents acts. Two nodes that overwrite each other's entry are two holders.
 */
import type { Address } from '../../../wire/address.ts'
import type { Sight } from './engine-report.ts'
import type { Holder } from './published-status.ts'

/** The time now: `monotonicMs` for durations, `epochMs` for published times. */
export type Moment = { readonly monotonicMs: number; readonly epochMs: number }

/**
 * Delay in milliseconds before a correction; longer than any election, and longer than the holder's own agent needs.
 */
export const CORRECT_AFTER = 5_000
/**
 * Delay in milliseconds before a VIP counts as having no holder. An engine that receives packets would have taken the
 * VIP over long before.
 */
export const NOBODY_AFTER = 10_000
/**
 * Delay in milliseconds before an engine with a fault, which receives no packets, counts a VIP as having no holder. The
 * delay is longer, so that other nodes publish first.
 */
export const DEAF_AFTER = 30_000
/** Additional delay in milliseconds for each node with a better rank. */
export const RANK_STEP = 2_000
/**
 * Time in milliseconds within which two nodes that overwrite each other's entry count as two holders. This time is
 * longer than the pause between their writes.
 */
export const CONTEST_WITHIN = 300_000

/**
 * A published entry about another node, written by this agent. The agent applies the entry as long as it is true,
 * because the API removes fields that an agent no longer applies.
 */
type Foreign = { readonly node: string; readonly since: string }

export type StatementMemory = {
  readonly kind: Sight['kind'] | undefined
  /** Time since which the address has this state, by CLOCK_MONOTONIC. */
  readonly changedAt: number
  /**
   * Time since which the published entry names another holder than the engine's Active; `undefined` while entry and
   * engine agree.
   */
  readonly wrongSince: number | undefined
  readonly foreign: Foreign | undefined
  /** True if the published entry has named this node since this node became the holder. */
  readonly confirmed: boolean
  readonly contests: readonly { readonly by: string; readonly at: number }[]
  /**
   * Published entry that this agent cleared; `undefined` if it cleared none. If the entry appears again, the agent of
   * the holder works.
   */
  readonly emptied: { readonly who: string; readonly landed: boolean } | undefined
}

export type StatementInput = {
  readonly sight: Sight
  /** Published entry for this VIP; `undefined` if no entry exists or the entry is not known. */
  readonly entry: Holder | undefined
  /** True if the API has reported the published entries. */
  readonly known: boolean
  readonly self: string
  /** Number of nodes that should publish the holder before this node does. */
  readonly rank: number
  /**
   * Returns the name of the node with an address; `undefined` for a link-local address, or if no node has the address.
   */
  readonly nameOf: (address: Address) => string | undefined
  /** True if the service behind the VIP was asked and did not answer. */
  readonly unanswered: boolean
  /** True if no node should hold the VIP, and this agent has to publish that. */
  readonly unwanted: boolean
}

export type HolderStatement =
  /** This node holds the VIP. */
  | { readonly kind: 'ours' }
  /** Another node holds the VIP and has not published that, or no node holds the VIP (`node` is empty). */
  | ({ readonly kind: 'foreign' } & Foreign)
  | { readonly kind: 'none' }

const NOTHING: HolderStatement = { kind: 'none' }

export const NO_STATEMENT: StatementMemory = {
  ...{ kind: undefined, changedAt: 0, wrongSince: undefined },
  ...{ foreign: undefined, confirmed: false, contests: [], emptied: undefined },
}

type Step = readonly [StatementMemory, HolderStatement]

/** Returns the agent's memory and the entry to publish after a report of the engine. */
export function stepStatement(memory: StatementMemory, input: StatementInput, now: Moment): Step {
  const { kind } = input.sight
  const next = memory.kind === kind ? memory : { ...memory, kind, changedAt: now.monotonicMs }
  switch (input.sight.kind) {
    case 'ours':
      return ours(next, input, now.monotonicMs)
    case 'heard':
      return heard(next, input, input.sight.from, now)
    case 'silence':
    case 'deaf':
      return nobody(next, input, now)
    case 'absent': {
      const isDue = now.monotonicMs - next.changedAt >= CORRECT_AFTER
      return input.unwanted && isDue ? empty(next, input, now) : [without(next), NOTHING]
    }
  }
}

const without = (memory: StatementMemory): StatementMemory => ({
  ...memory,
  ...{ wrongSince: undefined, foreign: undefined, confirmed: false, contests: [] },
})

function ours(memory: StatementMemory, { entry, self }: StatementInput, now: number): Step {
  const recent = memory.contests.filter(({ at }) => now - at < CONTEST_WITHIN)
  const taken = memory.confirmed && entry !== undefined && entry.node !== self && entry.node !== ''
  const contests = taken ? [...recent, { by: entry.node, at: now }].slice(-8) : recent
  const confirmed = !taken && (memory.confirmed || entry?.node === self)
  return [{ ...memory, wrongSince: undefined, foreign: undefined, confirmed, contests }, { kind: 'ours' }]
}

function heard(
  memory: StatementMemory,
  { entry, known, nameOf, rank, self }: StatementInput,
  from: Address,
  now: Moment,
): Step {
  const rest = without(memory)
  const { foreign } = memory
  const name = nameOf(from)
  // The address does not tell which node holds the VIP, so the entry is not contradicted.
  if (name === undefined && entry !== undefined && entry.node !== '' && entry.node !== from) return [rest, NOTHING]
  const node = name ?? from
  if (entry?.node === node) {
    // The holder's own agent publishes the entry again, or this agent has nothing to keep.
    if (foreign?.node !== node || entry.saidBy !== self) return [rest, NOTHING]
    return [
      { ...rest, foreign },
      { kind: 'foreign', ...foreign },
    ]
  }
  if (!known) return [rest, NOTHING]
  const wrongSince = memory.wrongSince ?? now.monotonicMs
  if (now.monotonicMs - wrongSince < CORRECT_AFTER + rank * RANK_STEP) return [{ ...rest, wrongSince }, NOTHING]
  return say({ ...rest, wrongSince }, foreign, node, now)
}

function nobody(memory: StatementMemory, input: StatementInput, now: Moment): Step {
  const { known, rank, sight, unanswered } = input
  // An engine that receives no packets needs a second source: the service of the address.
  const isBlind = sight.kind === 'deaf' && !unanswered
  const patience = (sight.kind === 'deaf' ? DEAF_AFTER : NOBODY_AFTER) + rank * RANK_STEP
  const isSoon = now.monotonicMs - memory.changedAt < patience
  return !known || isBlind || isSoon ? [without(memory), NOTHING] : empty(memory, input, now)
}

function empty(memory: StatementMemory, { entry, self }: StatementInput, now: Moment): Step {
  const rest = without(memory)
  const { emptied, foreign } = memory
  if (entry === undefined) return say(rest, foreign, '', now)
  if (entry.node === '') {
    // The entry comes from another agent, so this agent does not write it.
    if (entry.saidBy !== self) return [rest, NOTHING]
    return say({ ...rest, emptied: emptied && { ...emptied, landed: true } }, foreign, '', now)
  }
  const who = `${entry.node} ${entry.since}`
  // The entry that this agent cleared exists again. An entry that exists again shows that the agent of the holder
  // works, and this entry counts.
  if (emptied?.who === who && emptied.landed) return [rest, NOTHING]
  return say({ ...rest, emptied: { who, landed: false } }, foreign, '', now)
}

function say(memory: StatementMemory, before: Foreign | undefined, node: string, { epochMs }: Moment): Step {
  const foreign = before?.node === node ? before : { node, since: new Date(epochMs).toISOString() }
  return [
    { ...memory, foreign },
    { kind: 'foreign', ...foreign },
  ]
}

/** Returns the names of the nodes that have overwritten our entry at least twice. */
export function competingHoldersIn({ contests }: StatementMemory): readonly string[] {
  const names = contests.map(({ by }) => by)
  return [...new Set(names.filter((name) => names.indexOf(name) !== names.lastIndexOf(name)))]
}
