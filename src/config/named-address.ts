/**
 * Result of reading an address file, as a value. It is apart from the schema, because the engine needs the type without
 * zod.
 */
import type { Address } from '../wire/address.ts'

/** Contents of an address file, and the address in use because of it. */
export type NamedAddress = {
  readonly reading: { readonly address: Address } | { readonly problem: string }
  /** Last address of the file that an interface of this node had. */
  readonly inForce?: Address | undefined
}
