/**
 * What this node's agent says about one virtual address, from what its own engine sees. Decided here: that a holder speaks
 * for itself at once; that a Backup corrects an entry which names another than it hears, and says that nobody holds an
 * address, only after a delay that grows with its rank, so that of N agents one does; and that two who take the entry from
 * each other are two holders.
 */
import type { Address } from '../../../wire/address.ts'
import type { Sight } from './engine-report.ts'
import type { Holder } from './published-status.ts'

/** Now, as an argument: `monotonicMs` for durations, `epochMs` for what is written down. */
export type Moment = { readonly monotonicMs: number; readonly epochMs: number }

/** Milliseconds; longer than any election, and than its agent needs to say so. */
export const CORRECT_AFTER = 5_000
/** An engine that listens would have taken it over long before. */
export const NOBODY_AFTER = 10_000
/** Those with a fault do not listen: others go first. */
export const DEAF_AFTER = 30_000
/** For each node that goes first. */
export const RANK_STEP = 2_000
/** Two that take it from each other within so long are two holders; longer than the pauses between their writes. */
export const CONTEST_WITHIN = 300_000

/** Said by us of another: as long as it stays true it stays ours, because what an agent lets go of is removed. */
type Foreign = { readonly node: string; readonly since: string }

export type ClaimMemory = {
  readonly kind: Sight['kind'] | undefined
  /** CLOCK_MONOTONIC: this address has looked like that since. */
  readonly changedAt: number
  /** The entry has named another than we see since; undefined: it does not. */
  readonly wrongSince: number | undefined
  readonly foreign: Foreign | undefined
  /** The entry has named us since we hold it. */
  readonly confirmed: boolean
  readonly contests: readonly { readonly by: string; readonly at: number }[]
  /** An entry that we have emptied and somebody has written again: he lives. */
  readonly emptied: { readonly who: string; readonly landed: boolean } | undefined
}

export type ClaimInput = {
  readonly sight: Sight
  /** As published; undefined: none, or nothing is known. */
  readonly entry: Holder | undefined
  /** The API has told what is published. */
  readonly known: boolean
  readonly self: string
  /** How many nodes go first. */
  readonly rank: number
  /** Undefined: no node's, as a link-local address is none. */
  readonly nameOf: (address: Address) => string | undefined
  /** Its service was asked, and is silent. */
  readonly unanswered: boolean
  /** Nobody is to hold it, and it is ours to say so. */
  readonly unwanted: boolean
}

export type Claim =
  /** Ours, by our own account. */
  | { readonly kind: 'ours' }
  /** Another's, or nobody's (empty), whose agent does not say so. */
  | ({ readonly kind: 'foreign' } & Foreign)
  | { readonly kind: 'none' }

const NOTHING: Claim = { kind: 'none' }

export const NO_CLAIM: ClaimMemory = {
  ...{ kind: undefined, changedAt: 0, wrongSince: undefined },
  ...{ foreign: undefined, confirmed: false, contests: [], emptied: undefined },
}

type Step = readonly [ClaimMemory, Claim]

export function stepClaim(memory: ClaimMemory, input: ClaimInput, now: Moment): Step {
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

const without = (memory: ClaimMemory): ClaimMemory => ({
  ...memory,
  ...{ wrongSince: undefined, foreign: undefined, confirmed: false, contests: [] },
})

function ours(memory: ClaimMemory, { entry, self }: ClaimInput, now: number): Step {
  const recent = memory.contests.filter(({ at }) => now - at < CONTEST_WITHIN)
  const taken = memory.confirmed && entry !== undefined && entry.node !== self && entry.node !== ''
  const contests = taken ? [...recent, { by: entry.node, at: now }].slice(-8) : recent
  const confirmed = !taken && (memory.confirmed || entry?.node === self)
  return [{ ...memory, wrongSince: undefined, foreign: undefined, confirmed, contests }, { kind: 'ours' }]
}

function heard(
  memory: ClaimMemory,
  { entry, known, nameOf, rank, self }: ClaimInput,
  from: Address,
  now: Moment,
): Step {
  const rest = without(memory)
  const { foreign } = memory
  const name = nameOf(from)
  // Whose it is cannot be said by this address, so nobody is contradicted.
  if (name === undefined && entry !== undefined && entry.node !== '' && entry.node !== from) return [rest, NOTHING]
  const node = name ?? from
  if (entry?.node === node) {
    // Its own agent speaks for it again, or we have nothing to keep.
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

function nobody(memory: ClaimMemory, input: ClaimInput, now: Moment): Step {
  const { known, rank, sight, unanswered } = input
  // Without ears there has to be another witness.
  const isBlind = sight.kind === 'deaf' && !unanswered
  const patience = (sight.kind === 'deaf' ? DEAF_AFTER : NOBODY_AFTER) + rank * RANK_STEP
  const isSoon = now.monotonicMs - memory.changedAt < patience
  return !known || isBlind || isSoon ? [without(memory), NOTHING] : empty(memory, input, now)
}

function empty(memory: ClaimMemory, { entry, self }: ClaimInput, now: Moment): Step {
  const rest = without(memory)
  const { emptied, foreign } = memory
  if (entry === undefined) return say(rest, foreign, '', now)
  if (entry.node === '') {
    // Another one has said so.
    if (entry.saidBy !== self) return [rest, NOTHING]
    return say({ ...rest, emptied: emptied && { ...emptied, landed: true } }, foreign, '', now)
  }
  const who = `${entry.node} ${entry.since}`
  // Emptied, and there again: its agent lives, and knows better.
  if (emptied?.who === who && emptied.landed) return [rest, NOTHING]
  return say({ ...rest, emptied: { who, landed: false } }, foreign, '', now)
}

function say(memory: ClaimMemory, before: Foreign | undefined, node: string, { epochMs }: Moment): Step {
  const foreign = before?.node === node ? before : { node, since: new Date(epochMs).toISOString() }
  return [
    { ...memory, foreign },
    { kind: 'foreign', ...foreign },
  ]
}

/** Who else has taken the entry from us, twice or more. */
export function rivalsIn({ contests }: ClaimMemory): readonly string[] {
  const names = contests.map(({ by }) => by)
  return [...new Set(names.filter((name) => names.indexOf(name) !== names.lastIndexOf(name)))]
}
