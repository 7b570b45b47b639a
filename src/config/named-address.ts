/**
 * What a file of `interface: { holding: FILE }` says, and what of it is in force, as values. This file does not know who
 * reads it, nor what the address is for (holding.ts).
 */
import type { Address } from '../wire/address.ts'

export type NamedAddress = {
  readonly reading: { readonly address: Address } | { readonly problem: string }
  /** The last one that an interface had. */
  readonly inForce?: Address | undefined
}
