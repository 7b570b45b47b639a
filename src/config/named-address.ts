/**
 * An address file as values: what it says, and what of it is in force. Apart from the schema, because the ports of the engine
 * need the type and no zod.
 */
import type { Address } from '../wire/address.ts'

/** The contents of an address file as they were read, and the address that is in force because of it. */
export type NamedAddress = {
  readonly reading: { readonly address: Address } | { readonly problem: string }
  /** The last address of the file that an interface had. */
  readonly inForce?: Address | undefined
}
