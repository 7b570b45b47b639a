/**
 * The handling of each line of a keepalived file. Every line has a handling. This file decides how handlings are
 * counted. This file knows nothing about single keywords.
 */
import type { Position } from '../../problem.ts'

export type HandlingKind =
  /** Handling: holdfast's configuration has a key for the keyword. */
  | 'carried'
  /** Handling: packets, election and addresses are the same without the keyword. */
  | 'noEffect'
  /** Handling: holdfast lacks something that keepalived would do; a warning says what. */
  | 'notSupported'
  /** Handling: packets or the election would differ, so the instance stays in fault. */
  | 'refused'
  /** Handling: the word is no keyword of keepalived. */
  | 'unknown'

export type Handling = {
  readonly kind: HandlingKind
  /**
   * Keyword with its block, such as `vrrp_instance.priority`. For an unknown word, only the name of the block around
   * it, because the word may be part of a password.
   */
  readonly keyword: string
  readonly at: Position
  /** Reason or consequence of the handling; empty if the keyword is carried over. */
  readonly message: string
}

/** Counts of the handlings, as plain data for `holdfast status`. */
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
