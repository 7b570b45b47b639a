/**
 * Reads one line of virtual_ipaddress. This file decides which options of the line matter. This file knows nothing
 * about the family of the instance, and the block with the line.
 */
import { refusedValue } from '../../../base/refused-value.ts'
import { type Family, familyOf, parseAddress } from '../../../wire/address.ts'
import { hostPrefixLength } from '../../network.ts'
import type { Line, Word } from '../text/parser.ts'
import type { Section } from '../text/section.ts'
import { mapping, type Written, written } from '../written.ts'
import type { Refusal } from './import-refusal.ts'

export type ImportedAddress = {
  readonly line: Line
  /** Address and prefix length, as the keepalived file has them. */
  readonly address: Word
  readonly family: Family
  readonly device: Word | undefined
  readonly label: Word | undefined
  /** Options of the address that keepalived follows and holdfast does not have. */
  readonly missing: readonly string[]
  /** True if the address has `no_track`: keepalived keeps the instance running while the interface is down. */
  readonly untracked: boolean
  readonly refused: string | undefined
}

/** Options of an address that are followed by a value; all other options stand alone. */
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
/** Options of an address that need no key, because holdfast always acts so. */
const DONE: readonly string[] = ['noprefixroute', 'nodad', '-nodad', 'mngtmpaddr', 'home']

/** Returns the address of a line with its options; `undefined` if the line has no IP address. */
export function addressOf(line: Line): ImportedAddress | undefined {
  const [first, ...options] = line.words
  const family = first === undefined ? undefined : familyIn(first.text)
  if (first === undefined || family === undefined) return undefined
  const address = { ...first, text: shortened(first.text, family) }
  let device: Word | undefined
  let label: Word | undefined
  let refused: string | undefined
  let untracked = false
  const missing: string[] = []
  for (let i = 0; i < options.length; i++) {
    const option = options[i]?.text ?? ''
    const value = WITH_VALUE.includes(option) ? options[++i] : undefined
    if (option === 'dev') device = value
    else if (option === 'label') label = value
    else if (option === 'no_track') untracked = true
    else if (option === 'use_vmac') refused = 'the MAC of an address is always the one of its interface'
    else if (option === 'scope' && value?.text === 'global') continue
    // holdfast gives every IPv6 VIP the preferred lifetime 0, and IPv4 has no preferred lifetime.
    else if (option === 'preferred_lft' && value?.text === '0') continue
    else if (!DONE.includes(option)) missing.push(option)
  }
  return { line, address, family, device, label, missing, untracked, refused }
}

/** Shortens a prefix length to the longest of the family, as keepalived does. */
function shortened(text: string, family: Family): string {
  const most = hostPrefixLength(family)
  return text.replace(/\/(\d{1,9})$/, (_, length) => `/${Math.min(Number(length), most)}`)
}

/** Returns the family of an address with or without prefix length; `undefined` if the text is no address. */
export function familyIn(text: string): Family | undefined {
  const address = parseAddress(text.replace(/\/.*$/, ''))
  return address === undefined ? undefined : familyOf(address)
}

/** Returns the addresses of a block. Warns about each line and option that holdfast does not use. */
export function addressLines(section: Section, keyword: string, refusals: Refusal[]): readonly ImportedAddress[] {
  return section.entries(keyword).flatMap((line) => {
    const address = addressOf(line)
    if (address === undefined) {
      section.report.warn(
        line.at,
        `${refusedValue(keyword, line.words[0]?.text ?? '', 'an IP address')}; the line is ignored, as in keepalived`,
      )
      return []
    }
    const { device, label, missing, refused, untracked } = address
    const name = address.address.text
    const [first] = line.words
    if (first !== undefined && first.text !== name)
      section.report.warn(
        line.at,
        `The prefix length of ${first.text} is too long: it becomes ${name}, as in keepalived`,
      )
    for (const option of missing)
      section.report.warn(line.at, `"${option}" of ${name} is not supported: the address is installed without it`)
    if (untracked && device !== undefined)
      section.report.warn(
        line.at,
        `"no_track" of ${name} is not supported: the instance is in fault while "${device.text}" is down`,
      )
    if (label !== undefined && address.family === 'ipv6')
      section.report.warn(label.at, `The label of ${name} is ignored: IPv6 addresses have no labels`)
    if (refused !== undefined) refusals.push({ line, message: refused })
    return [address]
  })
}

/** Returns the address as an entry of `addresses`. */
export function addressEntry({ address, family, device, label, line }: ImportedAddress): Written {
  const plain = written(address.text, address.at)
  const named = family === 'ipv4' ? label : undefined
  if (device === undefined && named === undefined) return plain
  return mapping(
    {
      address: plain,
      interface: device && written(device.text, device.at),
      label: named && written(named.text, named.at),
    },
    line.at,
  )
}
