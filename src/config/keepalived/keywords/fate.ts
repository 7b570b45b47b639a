/**
 * What becomes of each thing that a keepalived file says. Decided here: that nothing seen is without a fate, and how
 * fates are counted. This file does not know any keyword.
 */
import type { Position } from '../../problem.ts'

export type FateKind =
  /** It stands in the configuration. */
  | 'carried'
  /** Neither packets, nor election, nor addresses differ without it. */
  | 'noEffect'
  /** Something is missing that keepalived would do: a warning says what. */
  | 'notSupported'
  /** Packets or election would differ: the instance stays in fault. */
  | 'refused'
  /** No keyword of keepalived that we know of. */
  | 'unknown'

export type Fate = {
  readonly kind: FateKind
  /** `vrrp_instance.priority`; of an unknown one only where it stands, because it may be half a password. */
  readonly keyword: string
  readonly at: Position
  /** Why, or what follows from it; empty for what is simply carried over. */
  readonly message: string
}

/** For status: small, and plain data. */
export type Imported = {
  readonly file: string
  readonly carried: number
  readonly withoutEffect: number
  readonly notSupported: number
  readonly refused: number
  readonly unknown: number
  readonly fates: readonly Fate[]
}

export function imported(file: string, fates: readonly Fate[]): Imported {
  const count = (kind: FateKind) => fates.filter((fate) => fate.kind === kind).length
  return {
    file,
    carried: count('carried'),
    withoutEffect: count('noEffect'),
    notSupported: count('notSupported'),
    refused: count('refused'),
    unknown: count('unknown'),
    fates,
  }
}
