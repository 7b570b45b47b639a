/**
 * Result of reading an address file, as a value. The type is not in the schema, because the engine needs it without
 * zod.
 */
import type { Address } from '../wire/address.ts'

/** Contents of an address file, and the address that the daemon uses because of the file. */
export type NamedAddress = {
  readonly reading: { readonly address: Address } | { readonly problem: string }
  /**
   * Address that the daemon uses: the last one in the address file that an interface of this node had. Absent if there
   * was none.
   */
  readonly inForce?: Address | undefined
}
