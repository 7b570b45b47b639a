/**
 * One line of virtual_ipaddress. Decided here: which of its options matter. This file does not know which family an
 * instance has, nor in which block the line stands.
 */
import { type Family, familyOf, parseAddress } from '../../wire/address.ts'
import type { Line, Word } from './parser.ts'

export type ImportedAddress = {
  readonly line: Line
  /** With its prefix length, as it is written. */
  readonly address: Word
  readonly family: Family
  readonly device: Word | undefined
  readonly label: Word | undefined
  /** Options that keepalived would obey and nobody does here. */
  readonly missing: readonly string[]
  readonly refused: string | undefined
}

/** With a value behind them; the others stand alone. */
const WITH_VALUE: readonly string[] = [
  'dev',
  'label',
  'brd',
  'broadcast',
  'scope',
  'peer',
  'preferred_lft',
  'track_group',
]
/** What is done anyway. */
const DONE: readonly string[] = ['noprefixroute', 'nodad', '-nodad', 'mngtmpaddr', 'home']

export function addressOf(line: Line): ImportedAddress | undefined {
  const [address, ...options] = line.words
  const family = address === undefined ? undefined : familyIn(address.text)
  if (address === undefined || family === undefined) return undefined
  let device: Word | undefined
  let label: Word | undefined
  let refused: string | undefined
  const missing: string[] = []
  for (let i = 0; i < options.length; i++) {
    const option = options[i]?.text ?? ''
    const value = WITH_VALUE.includes(option) ? options[++i] : undefined
    if (option === 'dev') device = value
    else if (option === 'label') label = value
    else if (option === 'use_vmac') refused = 'the MAC of an address is always the one of its interface'
    else if (option === 'scope' && value?.text === 'global') continue
    // This is what is done with IPv6 addresses anyway, and IPv4 has no such thing.
    else if (option === 'preferred_lft' && value?.text === '0') continue
    else if (!DONE.includes(option)) missing.push(option)
  }
  return { line, address, family, device, label, missing, refused }
}

function familyIn(text: string): Family | undefined {
  const address = parseAddress(text.replace(/\/.*$/, ''))
  return address === undefined ? undefined : familyOf(address)
}
