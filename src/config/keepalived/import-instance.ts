/**
 * A vrrp_instance as a virtual router with `profile: keepalived`. Decided here: what keepalived would do where the file
 * says nothing, and what makes an instance one that must not run. This file does not know groups, nor what a check asks.
 */
import type { Family } from '../../wire/address.ts'
import { formatDuration } from '../duration.ts'
import { addressOf, type ImportedAddress } from './import-address.ts'
import type { Found, Globals } from './import-global.ts'
import { type Checks, tracksOf } from './import-track.ts'
import type { Line } from './parser.ts'
import { type Ledger, Section } from './section.ts'
import { type Fields, mapping, type Written, written } from './written.ts'

export type Instance = {
  readonly line: Line
  /** As the file calls it. */
  readonly word: string
  readonly name: string
  /** Undefined: it says too little to be a router at all. */
  readonly router: Written | undefined
  /** Why it stays in fault. */
  readonly refusal: string | undefined
  /** Some tracker of its own weighs something. */
  readonly weighted: boolean
}

type Refusal = { readonly line: Line; readonly message: string }

export function instanceOf(line: Line, name: string, globals: Globals, checks: Checks, ledger: Ledger): Instance {
  const section = new Section('vrrp_instance', line.block ?? [], ledger)
  const refusals: Refusal[] = [...refusalsOf(section, globals)]
  const addresses = addressesOf(section, refusals)
  const family = addresses[0]?.family
  const vrid = section.integer('virtual_router_id', 1, 255)
  const device = section.line('interface') === undefined ? globals.defaultInterface : textOf(section, 'interface')
  const missing =
    vrid === undefined
      ? 'virtual_router_id'
      : family === undefined
        ? 'virtual_ipaddress'
        : device === undefined
          ? 'interface'
          : undefined
  const tracks = tracksOf(section, checks)
  refusals.push(...tracks.refusals)
  const word = line.words[1]?.text ?? ''
  if (vrid === undefined || family === undefined || device === undefined || missing !== undefined) {
    ledger.turn(line, 'refused', `"${word}" has no usable ${missing ?? ''}, so there is nothing that could run`)
    return { line, word, name, router: undefined, refusal: undefined, weighted: false }
  }
  const version = versionOf(section, globals, family)
  const startsActive = section.line('state')?.words[1]?.text === 'MASTER'
  // keepalived: an instance that begins as the owner of its addresses is taken for it when it names no priority.
  const priority = section.integer('priority', 1, 255) ?? { value: startsActive ? 255 : 100, at: line.at }
  const fields: Fields = {
    name: written(name, line.words[1]?.at ?? line.at),
    vrid: written(vrid.value, vrid.at),
    interface: device,
    addresses: written(
      addresses.map((each) => written(each.address.text, each.address.at)),
      section.line('virtual_ipaddress')?.at ?? line.at,
    ),
    profile: written('keepalived', line.at),
    version: written(version.value, version.at),
    priority: written(priority.value, priority.at),
    advertisementInterval: intervalOf(section, version.value),
    authentication: version.value === 2 ? authenticationOf(section, refusals) : unauthenticated(section),
    ...preemption(section, startsActive, priority.value),
    transport: transportOf(section, refusals),
    track: tracks.entries.length === 0 ? undefined : written(tracks.entries, line.at),
    ...knobsOf(section, globals, family, line),
  }
  const [first] = refusals
  for (const { line: refused, message } of refusals) ledger.turn(refused, 'refused', message)
  const place = first?.line.at
  return {
    line,
    word,
    name,
    router: mapping(fields, line.at),
    refusal: first && place && `${place.file ?? ''}:${place.line}: ${first.message}`,
    weighted: tracks.weighted,
  }
}

/** Keywords that nothing can be made of, with what they say when they say nothing new. */
function refusalsOf(section: Section, globals: Globals): readonly Refusal[] {
  const harmless: Readonly<Record<string, (value: string | undefined) => boolean>> = {
    down_timer_adverts: (value) => value === '3',
    strict_mode: (value) => ['off', 'no', 'false'].includes(value ?? ''),
    mcast_dst_ip: (value) => value === '224.0.0.18' || value?.toLowerCase() === 'ff02::12',
    old_unicast_checksum: (value) => value === 'never',
  }
  const always = [
    'use_vmac',
    'use_vmac_addr',
    'vmac_xmit_base',
    'use_ipvlan',
    'vrf',
    'no_virtual_ipaddress',
    'track_bfd',
    'auth_hmac',
  ]
  const own = [...always, ...Object.keys(harmless)].flatMap((name): Refusal[] => {
    const line = section.line(name)
    if (line === undefined) return []
    if (harmless[name]?.(line.words[1]?.text) !== true) return [{ line, message: `"${name}" cannot be done` }]
    section.ledger.turn(line, 'noEffect', 'it says what holds anyway')
    return []
  })
  const inherited = globals.refusals.filter(({ unless }) => unless === undefined || section.line(unless) === undefined)
  return [...own, ...inherited]
}

function addressesOf(section: Section, refusals: Refusal[]): readonly ImportedAddress[] {
  const found = section.entries('virtual_ipaddress').flatMap((line) => {
    const address = addressOf(line)
    if (address === undefined)
      section.ledger.warn(line.at, 'Cannot use this line: an IP address wanted; it is left out, as keepalived does')
    return address ?? []
  })
  const family = found[0]?.family
  return found.filter((address) => {
    for (const option of address.missing)
      section.ledger.warn(address.line.at, `"${option}" of ${address.address.text} is not supported: it is not set`)
    if (address.refused !== undefined) refusals.push({ line: address.line, message: address.refused })
    if (address.family === family) return true
    section.ledger.warn(
      address.address.at,
      `Cannot use ${address.address.text} beside ${found[0]?.address.text ?? ''}: they are of two families; ` +
        'it is left out, as keepalived does (virtual_ipaddress_excluded may have it)',
    )
    return false
  })
}

function versionOf(section: Section, globals: Globals, family: Family): { value: number; at: Written['at'] } {
  const own = section.integer('version', 2, 3)
  const native = section.line('native_ipv6')
  const at = own?.at ??
    native?.at ??
    globals.version?.at ??
    section.line('virtual_ipaddress')?.at ?? { line: 1, column: 1 }
  if (family === 'ipv6') return { value: 3, at }
  return { value: own?.value ?? globals.version?.value ?? 2, at }
}

/** keepalived rounds to what the packet can carry. */
function intervalOf(section: Section, version: number): Written | undefined {
  const found = section.seconds('advert_int', 0.01, 255)
  if (found === undefined) return undefined
  const step = version === 2 ? 1000 : 10
  const rounded = Math.min(version === 2 ? 255_000 : 40_950, Math.max(step, Math.round(found.value / step) * step))
  if (rounded !== found.value)
    section.ledger.warn(
      found.at,
      `Version ${version} cannot carry ${formatDuration(found.value)}: it becomes ${formatDuration(rounded)}, as in keepalived`,
    )
  return written(formatDuration(rounded), found.at)
}

function authenticationOf(section: Section, refusals: Refusal[]): Written | undefined {
  const line = section.line('authentication')
  if (line === undefined) return undefined
  const inside = new Section('authentication', line.block ?? [], section.ledger)
  const type = inside.line('auth_type')
  const password = inside.word('auth_pass')
  const signed = inside.line('auth_hmac')
  if (type?.words[1]?.text === 'AH')
    refusals.push({ line: type, message: 'authentication headers (AH) are not spoken' })
  if (signed !== undefined) refusals.push({ line: signed, message: '"auth_hmac" is not spoken' })
  if (type?.words[1]?.text !== 'PASS' || password === undefined) return undefined
  return mapping({ type: written('simple', type.at), password: written(password.text, password.at) }, line.at)
}

function unauthenticated(section: Section): undefined {
  const line = section.line('authentication')
  if (line === undefined) return undefined
  const inside = new Section('authentication', line.block ?? [], section.ledger)
  const why = 'version 3 has no authentication, and keepalived leaves it out as well'
  for (const each of [line, inside.line('auth_type'), inside.line('auth_pass')])
    if (each !== undefined) section.ledger.turn(each, 'noEffect', why)
  return undefined
}

function preemption(section: Section, startsActive: boolean, priority: number): Fields {
  const [no, yes] = [section.line('nopreempt'), section.line('preempt')]
  const delay = section.seconds('preempt_delay', 0, 1000)
  const last = no !== undefined && (yes === undefined || yes.at.line < no.at.line) ? no : undefined
  const idle = startsActive || priority === 255
  const why = startsActive ? 'it has none with state MASTER' : 'it has none with priority 255'
  for (const line of [no, section.line('preempt_delay')])
    if (line !== undefined && idle) section.ledger.turn(line, 'noEffect', why)
  return {
    preempt: last !== undefined && !idle ? written(false, last.at) : undefined,
    preemptDelay: delay && !idle && last === undefined ? written(formatDuration(delay.value), delay.at) : undefined,
  }
}

function transportOf(section: Section, refusals: Refusal[]): Written | undefined {
  const source = section.line('unicast_src_ip') && textOf(section, 'unicast_src_ip')
  const peerBlock = section.line('unicast_peer')
  const peers = section.entries('unicast_peer').flatMap((line) => peerOf(line))
  const alone = section.line('unicast_fault_no_peer')
  if (peers.length === 0 && alone !== undefined) refusals.push({ line: alone, message: 'there are no unicast peers' })
  if (source === undefined && peerBlock === undefined) return undefined
  const at = peerBlock?.at ?? source?.at ?? { line: 1, column: 1 }
  return mapping({ unicast: mapping({ source, peers: written(peers, at) }, at) }, at)
}

function peerOf(line: Line): Written[] {
  const [address, ...options] = line.words
  if (address === undefined) return []
  const bound = (name: string): Written | undefined => {
    const word = options[options.findIndex(({ text }) => text === name) + 1]
    const given = options.some(({ text }) => text === name)
    return given && word !== undefined && /^\d{1,3}$/.test(word.text) ? written(Number(word.text), word.at) : undefined
  }
  const [minTtl, maxTtl] = [bound('min_ttl'), bound('max_ttl')]
  const plain = written(address.text, address.at)
  return [minTtl === undefined && maxTtl === undefined ? plain : mapping({ address: plain, minTtl, maxTtl }, line.at)]
}

function knobsOf(section: Section, globals: Globals, family: Family, line: Line): Fields {
  const listed = section.line('check_unicast_src') !== undefined || globals.onlyListedPeers
  const quiet = section.flag('lower_prio_no_advert') ?? globals.lowerPrioNoAdvert
  const last = section.flag('higher_prio_send_advert') ?? globals.higherPrioSendAdvert
  const sum = section.line('v3_checksum_as_v2')
  const unicast = section.line('unicast_peer') ?? section.line('unicast_src_ip')
  return {
    onlyListedPeers: listed ? written(true, section.line('check_unicast_src')?.at ?? line.at) : undefined,
    assertOnLower: flagWritten(quiet, (value) => !value),
    lastAdvertisement: flagWritten(last, (value) => value),
    checksum: sum && written('message-only', sum.at),
    // What the profile says already, said once more: it keeps advice away that a keepalived file cannot follow.
    ttlCheck: unicast && written(false, unicast.at),
    firstAddressLinkLocal: family === 'ipv6' ? written(false, line.at) : undefined,
    stagger: unicast === undefined ? written(false, line.at) : undefined,
  }
}

const flagWritten = (found: Found<boolean>, becomes: (value: boolean) => boolean): Written | undefined =>
  found && written(becomes(found.value), found.at)

function textOf(section: Section, name: string): Written | undefined {
  const word = section.word(name)
  return word && written(word.text, word.at)
}
