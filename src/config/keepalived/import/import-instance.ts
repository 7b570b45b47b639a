/**
 * Converts a vrrp_instance to a virtual router with `profile: keepalived`. This file decides the values that keepalived
 * uses for missing keywords, and which instances must not run. This file knows nothing about groups, and what a check
 * does.
 */
import type { Family } from '../../../wire/address.ts'
import { formatDuration } from '../../schema/duration.ts'
import { reasonOf } from '../keywords/keywords.ts'
import type { Surroundings } from '../source.ts'
import type { Line } from '../text/parser.ts'
import { always, type ImportReport, Section } from '../text/section.ts'
import { type Fields, type Found, mapping, type Written, written } from '../written.ts'
import { addressEntry, addressLines, type ImportedAddress } from './import-address.ts'
import { announceOf } from './import-announce.ts'
import type { Globals } from './import-global.ts'
import { notifyOf } from './import-notify.ts'
import { type Refusal, refusalsOf } from './import-refusal.ts'
import { type Checks, tracksOf } from './import-track.ts'
import { transportOf } from './import-transport.ts'

export type Instance = {
  readonly line: Line
  /** Name of the instance in the keepalived file. */
  readonly word: string
  readonly name: string
  /** The virtual router of the instance; `undefined` if required keywords are missing. */
  readonly router: Written | undefined
  /** Reason why the instance stays in fault; `undefined` if the instance was accepted. */
  readonly refusal: string | undefined
  /** True if the instance itself, and not only its sync group, has a tracker with a weight. */
  readonly weighted: boolean
}

/** Reads a vrrp_instance block. */
export function instanceOf(
  line: Line,
  name: string,
  globals: Globals,
  checks: Checks,
  report: ImportReport,
  surroundings: Surroundings,
): Instance {
  const section = new Section('vrrp_instance', line.block ?? [], report)
  const refusals: Refusal[] = [...refusalsOf(section, globals)]
  const addresses = addressesOf(section, refusals)
  const excluded = addressLines(section, 'virtual_ipaddress_excluded', refusals)
  const family = addresses[0]?.family
  const vrid = section.integer('virtual_router_id', 1, 255)
  const named = section.line('interface') === undefined ? globals.defaultInterface : textOf(section, 'interface')
  if (named?.value === 'lo') report.fail(named.at, 'Cannot use "lo" as interface: it is loopback')
  const device = named?.value === 'lo' ? undefined : named
  const version = family && versionOf(section, globals, family)
  const authentication = authenticationOf(section, version?.value, refusals)
  const word = line.words[1]?.text ?? ''
  if (vrid === undefined || version === undefined || family === undefined || device === undefined) {
    if (vrid === undefined)
      report.fail(line.at, `vrrp_instance ${word}: virtual_router_id is required, an integer from 1 to 255`)
    if (named === undefined) report.fail(line.at, `vrrp_instance ${word}: interface is required`)
    if (family === undefined)
      report.fail(line.at, `vrrp_instance ${word}: virtual_ipaddress is required, with at least one address`, false)
    return { line, word, name, router: undefined, refusal: undefined, weighted: false }
  }
  const { startAs, startsActive } = initialState(section)
  // keepalived: without a priority, an instance with state MASTER has the priority of an address owner.
  const priority = section.integer('priority', 1, 255, always(100)) ?? { value: startsActive ? 255 : 100, at: line.at }
  const tracks = tracksOf(section, checks, priority.value === 255)
  refusals.push(...tracks.refusals)
  const fields: Fields = {
    name: written(name, line.words[1]?.at ?? line.at),
    vrid: written(vrid.value, vrid.at),
    interface: device,
    addresses: written(addresses.map(addressEntry), addresses[0]?.address.at ?? line.at),
    excludedAddresses:
      excluded.length === 0 ? undefined : written(excluded.map(addressEntry), excluded[0]?.address.at ?? line.at),
    profile: written('keepalived', line.at),
    version: written(version.value, version.at),
    priority: written(priority.value, priority.at),
    advertisementInterval: intervalOf(section, version.value),
    authentication,
    startAs,
    ...preemption(section, startsActive, priority.value),
    transport: transportOf(section, family, refusals),
    announce: announceOf(section, globals, device.value),
    notify: notifyOf(section, globals.scripts, surroundings),
    track: tracks.entries.length === 0 ? undefined : written(tracks.entries, line.at),
    ...knobsOf(section, globals, family, line),
  }
  const refusal = refuse(refusals, report)
  return { line, word, name, router: mapping(fields, line.at), refusal, weighted: tracks.weighted }
}

function initialState(section: Section): { readonly startAs: Written | undefined; readonly startsActive: boolean } {
  const state = section.word('state') && section.line('state')
  const [, word] = state?.words ?? []
  const startsActive = word?.text === 'MASTER'
  if (state !== undefined && !startsActive && word?.text !== 'BACKUP') section.ignore(state, 'MASTER or BACKUP', word)
  return { startAs: state && startsActive ? written('active', state.at) : undefined, startsActive }
}

/**
 * Returns the first reason to refuse the instance, with its position; `undefined` without a refusal. All reasons go
 * into the import report.
 */
function refuse(refusals: readonly Refusal[], report: ImportReport): string | undefined {
  for (const { line, message } of refusals) report.refuse(line, message)
  const [first] = refusals
  const place = first?.line.at
  return first && place && `${place.file ?? ''}:${place.line}: ${first.message}`
}

function addressesOf(section: Section, refusals: Refusal[]): readonly ImportedAddress[] {
  const found = addressLines(section, 'virtual_ipaddress', refusals)
  const family = found[0]?.family
  return found.filter((address) => {
    if (address.family === family) return true
    section.report.warn(
      address.address.at,
      `virtual_ipaddress: cannot use ${address.address.text}, expected the address family of ${found[0]?.address.text ?? ''}; ` +
        'it is ignored, as in keepalived (it may be in virtual_ipaddress_excluded)',
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

/** Returns the advertisement interval, rounded to a value that the packet can carry, as keepalived does. */
function intervalOf(section: Section, version: number): Written | undefined {
  const found = section.seconds('advert_int', 0.01, 255)
  if (found === undefined) return undefined
  const step = version === 2 ? 1000 : 10
  const rounded = Math.min(version === 2 ? 255_000 : 40_950, Math.max(step, Math.round(found.value / step) * step))
  if (rounded !== found.value)
    section.report.warn(
      found.at,
      `VRRP version ${version} cannot carry an interval of ${formatDuration(found.value)}: it becomes ${formatDuration(rounded)}, as in keepalived`,
    )
  return written(formatDuration(rounded), found.at)
}

/**
 * Reads the block authentication of an instance. The block is read even if its values are not used, so that each line
 * has a handling.
 */
function authenticationOf(section: Section, version: number | undefined, refusals: Refusal[]): Written | undefined {
  const line = section.line('authentication')
  if (line === undefined) return undefined
  const inside = new Section('authentication', line.block ?? [], section.report)
  const type = inside.line('auth_type')
  const kind = (type && inside.word('auth_type'))?.text
  const password = inside.line('auth_pass') && inside.word('auth_pass')
  const signed = inside.line('auth_hmac')
  if (signed !== undefined) refusals.push({ line: signed, message: reasonOf('authentication', 'auth_hmac') })
  if (version === 3) {
    const why = 'version 3 has no authentication, and keepalived ignores it as well'
    for (const each of [line, type, inside.line('auth_pass')])
      if (each !== undefined) section.report.change(each, 'noEffect', why)
    return undefined
  }
  if (type !== undefined && kind === 'AH')
    refusals.push({
      line: type,
      message: '"auth_type AH" is refused: holdfast does not support authentication headers',
    })
  if (type === undefined || kind !== 'PASS' || password === undefined) {
    const lines = [line, inside.line('auth_pass')].filter((each) => each !== undefined)
    if (kind !== 'AH' && signed === undefined)
      for (const each of lines)
        section.report.change(each, 'noEffect', 'authentication needs auth_type PASS and a password')
    return undefined
  }
  return mapping({ type: written('simple', type.at), password: written(password.text, password.at) }, line.at)
}

function preemption(section: Section, startsActive: boolean, priority: number): Fields {
  const [no, yes] = [section.line('nopreempt'), section.line('preempt')]
  const delay = section.seconds('preempt_delay', 0, 1000, always(0))
  const last = no !== undefined && (yes === undefined || yes.at.line < no.at.line) ? no : undefined
  const idle = startsActive || priority === 255
  const why = startsActive ? 'not used with state MASTER' : 'not used with priority 255'
  for (const line of [no, section.line('preempt_delay')])
    if (line !== undefined && idle) section.report.change(line, 'noEffect', why)
  return {
    preempt: last !== undefined && !idle ? written(false, last.at) : undefined,
    preemptDelay: delay && !idle && last === undefined ? written(formatDuration(delay.value), delay.at) : undefined,
  }
}

function knobsOf(section: Section, globals: Globals, family: Family, line: Line): Fields {
  const listed = section.line('check_unicast_src') !== undefined || globals.onlyListedPeers
  const quiet = section.flag('lower_prio_no_advert') ?? globals.lowerPrioNoAdvert
  const last = section.flag('higher_prio_send_advert') ?? globals.higherPrioSendAdvert
  const sum = section.line('v3_checksum_as_v2')
  const [unicast] = section.entries('unicast_peer')
  return {
    onlyListedPeers: listed ? written(true, section.line('check_unicast_src')?.at ?? line.at) : undefined,
    assertOnLower: flagWritten(quiet, (value) => !value),
    lastAdvertisement: flagWritten(last, (value) => value),
    checksum: sum && written('message-only', sum.at),
    // The following keys have the default values of profile `keepalived`. These default values are set explicitly,
    // because advice about a missing key cannot be followed in a keepalived file.
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
