/**
 * The handling of each thing that a keepalived file says. Everything in the file has a handling. This file decides how
 * handlings are counted. It does not know any keyword.
 */
import type { Position } from '../../problem.ts'

export type HandlingKind =
  /** holdfast's configuration has a key for the keyword. */
  | 'carried'
  /** Packets, election and addresses are the same without the keyword. */
  | 'noEffect'
  /** keepalived would do something that holdfast does not; a warning says what. */
  | 'notSupported'
  /** Packets or the election would differ, so the instance stays in fault. */
  | 'refused'
  /** The word is no keyword of keepalived. */
  | 'unknown'

export type Handling = {
  readonly kind: HandlingKind
  /**
   * Name such as `vrrp_instance.priority`. For an unknown word, only the name of the block around it, because the word
   * may be part of a password.
   */
  readonly keyword: string
  readonly at: Position
  /** Reason or consequence; empty if the keyword is carried over. */
  readonly message: string
}

/** Plain data for `holdfast status`. */
export type Imported = {
  readonly file: string
  readonly carried: number
  readonly withoutEffect: number
  readonly notSupported: number
  readonly refused: number
  readonly unknown: number
  readonly handlings: readonly Handling[]
}

export function imported(file: string, handlings: readonly Handling[]): Imported {
  const count = (kind: HandlingKind) => handlings.filter((handling) => handling.kind === kind).length
  return {
    file,
    carried: count('carried'),
    withoutEffect: count('noEffect'),
    notSupported: count('notSupported'),
    refused: count('refused'),
    unknown: count('unknown'),
    handlings,
  }
}
