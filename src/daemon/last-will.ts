/**
 * What the guardian does when this engine is gone (design.md §2): addresses off, then priority 0, for all members of a
 * sync group at once. Computed when a router becomes Active; an owner's (255) addresses are the node's own and are in no
 * will.
 */
import type { LastWill, WantedAddress } from './ports.ts'

/** One member's part of it. */
export type Bequest = {
  readonly remove: readonly WantedAddress[]
  readonly release: LastWill['packets'][number]
}

export function lastWillOf(
  { unit, name }: { readonly unit: number; readonly name: string },
  bequests: readonly Bequest[],
): LastWill {
  return {
    unit,
    name,
    remove: bequests.flatMap(({ remove }) => remove),
    packets: bequests.flatMap(({ release }) => (release.datagrams.length === 0 ? [] : [release])),
  }
}
