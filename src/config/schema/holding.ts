/**
 * The key `interface: { holding: … }`: an address, or the path of a file that contains one (docs/configuration.md).
 * This file decides what an address file may contain. The meaning of the key for a router is in ../holding.ts.
 */
import type { Address } from '../../wire/address.ts'
import type { NamedAddress } from '../named-address.ts'
import { host, type Reading, section, textual } from './field.ts'

export type Holding = { readonly file: string } | { readonly address: Address }
/** Value of the key `interface`: a name, `auto`, or a mapping with `holding`. */
export type InterfaceKey = string | { readonly holding: Holding }

const EXPECTED = 'an IP address, or the absolute path of a file that contains one'

function read(text: string): Reading<Holding> {
  if (text.startsWith('/')) return text.includes('\0') ? { refused: EXPECTED } : { value: { file: text } }
  const parsed = host().safeParse(text)
  if (parsed.success) return { value: { address: parsed.data } }
  return { refused: /^[\da-f:.%]+$/i.test(text) ? (parsed.error.issues[0]?.message ?? EXPECTED) : EXPECTED }
}

export const holdingKey = () =>
  section(
    {
      holding: textual<Holding>(EXPECTED, read).describe(
        'The interface that has this address now, whatever its name; or the absolute path of a file with the address, which is read again when it changes',
      ),
    },
    'a mapping with holding',
  )

/**
 * Returns the address in the text of an address file, or the problem of the text. The caller has shortened a text that
 * is too long.
 */
export function readAddressText(text: string): NamedAddress['reading'] {
  const word = text.trim()
  if (word === '') return { problem: 'the file is empty' }
  const parsed = host().safeParse(word)
  if (parsed.success) return { address: parsed.data }
  const shown = JSON.stringify(word.length > 60 ? `${word.slice(0, 57)}...` : word)
  return { problem: `it contains ${shown}, expected ${parsed.error.issues[0]?.message ?? EXPECTED}` }
}
