/**
 * The key `interface: { holding: … }`: an address, or the path of a file that has one (docs/configuration.md). Decided here:
 * what such a file may contain. What the key means for a router is in ../holding.ts.
 */
import type { Address } from '../../wire/address.ts'
import type { NamedAddress } from '../named-address.ts'
import { host, type Reading, section, textual } from './field.ts'

export type Holding = { readonly file: string } | { readonly address: Address }
/** Of a router: a name, `auto`, or this. */
export type InterfaceKey = string | { readonly holding: Holding }

const WANTED = 'an IP address wanted, or the absolute path of a file that says one'

function read(text: string): Reading<Holding> {
  if (text.startsWith('/')) return text.includes('\0') ? { refused: WANTED } : { value: { file: text } }
  const parsed = host().safeParse(text)
  if (parsed.success) return { value: { address: parsed.data } }
  return { refused: /^[\da-f:.%]+$/i.test(text) ? (parsed.error.issues[0]?.message ?? WANTED) : WANTED }
}

export const holdingKey = () =>
  section(
    {
      holding: textual<Holding>(WANTED, read).describe(
        'The interface that has this address now, whatever its name; an absolute path: of a file that says it, and is followed',
      ),
    },
    'a mapping with holding wanted',
  )

/** Returns the address in the text of a file, or what is wrong with it. The caller has cut a text that is too long. */
export function readAddressText(text: string): NamedAddress['reading'] {
  const word = text.trim()
  if (word === '') return { problem: 'it is empty' }
  const parsed = host().safeParse(word)
  if (parsed.success) return { address: parsed.data }
  const shown = JSON.stringify(word.length > 60 ? `${word.slice(0, 57)}...` : word)
  return { problem: `it says ${shown}: ${parsed.error.issues[0]?.message ?? WANTED}` }
}
