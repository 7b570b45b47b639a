/**
 * `interface: { holding: … }`: the virtual router runs where an address of this node is now, whatever the interface is
 * called. The address is written, or a file says it (docs/configuration.md). Decided here: what such a file may contain,
 * and which interface and which address it comes to. This file does not read files, nor remember what they said.
 */
import { type Address, familyOf } from '../wire/address.ts'
import type { Report } from './choice.ts'
import type { Config, VirtualRouter } from './config.ts'
import type { NamedAddress } from './named-address.ts'
import { familyName, familyOfAll } from './network.ts'
import type { OwnInterface, OwnView } from './node-view.ts'
import { host, type Reading, section, textual } from './schema/field.ts'

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

/** What a file of one address says. Longer ones are cut before they come here, and are none then. */
export function readAddressText(text: string): NamedAddress['reading'] {
  const word = text.trim()
  if (word === '') return { problem: 'it is empty' }
  const parsed = host().safeParse(word)
  if (parsed.success) return { address: parsed.data }
  const shown = JSON.stringify(word.length > 60 ? `${word.slice(0, 57)}...` : word)
  return { problem: `it says ${shown}: ${parsed.error.issues[0]?.message ?? WANTED}` }
}

export const holdingOf = ({ interface: on }: Pick<VirtualRouter, 'interface'>): Holding | undefined =>
  typeof on === 'string' ? undefined : on.holding

/** Undefined: no name is written. */
export const nameOfInterface = ({ interface: on }: Pick<VirtualRouter, 'interface'>): string | undefined =>
  typeof on === 'string' && on !== 'auto' ? on : undefined

/** Each once. */
export const addressFilesIn = ({ virtualRouters }: Pick<Config, 'virtualRouters'>): readonly string[] => [
  ...new Set(
    virtualRouters.flatMap((router) => {
      const holding = holdingOf(router)
      return holding !== undefined && 'file' in holding ? holding.file : []
    }),
  ),
]

/** What is in force of `interface: { holding: … }`, and why. */
export type Held = {
  readonly file: string | undefined
  /** Undefined: nobody has said one that is of use. */
  readonly address: Address | undefined
  /** All interfaces that have it, the chosen one first. */
  readonly on: readonly string[]
  /** Why this is not what the configuration asks for; undefined: it is. */
  readonly problem: string | undefined
}

export type Choice = { readonly chosen: OwnInterface | undefined; readonly held: Held }

/**
 * What was in force stays as long as an interface has it: a file that is gone, unreadable or early for its address is no
 * reason to let go of a VIP.
 */
export function chooseHolder(
  router: VirtualRouter,
  holding: Holding,
  { interfaces, places }: Pick<OwnView, 'interfaces' | 'places'>,
  files: ReadonlyMap<string, NamedAddress>,
  report: Report,
): Choice {
  const at = ['interface', 'holding'] as const
  const warn = (problem: string) => {
    report(
      'warning',
      at,
      `Cannot find the interface of "${router.name}": ${problem}, the router is in fault until then`,
    )
  }
  const file = 'file' in holding ? holding.file : undefined
  const wanted = 'address' in holding ? { address: holding.address } : wordOf(router, files.get(holding.file)?.reading)
  const before = file === undefined ? undefined : files.get(file)?.inForce
  const holders = (address: Address) => holdersOf(address, interfaces, places.get(address) ?? [])
  let problem: string
  if ('problem' in wanted) problem = `${file}: ${wanted.problem}`
  else {
    const { address } = wanted
    const [chosen, ...others] = holders(address)
    if (chosen !== undefined) {
      sayPort(router, chosen, report)
      return { chosen, held: { file, address, on: named([chosen, ...others]), problem: undefined } }
    }
    const said = file === undefined ? address : `${address}, which ${file} says`
    problem = isVirtual(address, interfaces, places.get(address) ?? [])
      ? `${said}, is a virtual address of this file and not an own one of this node`
      : `no interface has ${said}`
  }
  const [chosen, ...others] =
    before === undefined || familyOf(before) !== familyOfAll(router.addresses) ? [] : holders(before)
  if (chosen === undefined || before === undefined) {
    warn(problem)
    return {
      chosen: undefined,
      held: { file, address: 'address' in wanted ? wanted.address : undefined, on: [], problem },
    }
  }
  report(
    'warning',
    at,
    `Cannot follow ${file} for "${router.name}": ${problem}; it stays with ${before} on "${chosen.name}"`,
  )
  return { chosen, held: { file, address: before, on: named([chosen, ...others]), problem } }
}

const named = (interfaces: readonly OwnInterface[]): readonly string[] => interfaces.map(({ name }) => name)

/** Of the wrong family is as good as none. */
function wordOf(router: VirtualRouter, reading: NamedAddress['reading'] | undefined): NamedAddress['reading'] {
  if (reading === undefined) return { problem: 'it has not been read yet' }
  if ('problem' in reading) return reading
  const family = familyOfAll(router.addresses)
  if (familyOf(reading.address) === family) return reading
  return {
    problem: `it says ${reading.address}, and the virtual addresses of "${router.name}" are ${familyName(family)}`,
  }
}

/** A port cannot hear anybody: it is chosen only where nothing else has the address, and that is a fault of its own. */
function holdersOf(
  address: Address,
  interfaces: readonly OwnInterface[],
  places: readonly { readonly on: OwnInterface }[],
): readonly OwnInterface[] {
  if (places.length === 0) return []
  const all = interfaces.filter(({ own }) => own.some((each) => each.address === address))
  const able = all.filter(({ portOf }) => portOf === undefined)
  return able.length > 0 ? able : all
}

const isVirtual = (
  address: Address,
  interfaces: readonly OwnInterface[],
  places: readonly { readonly on: OwnInterface }[],
): boolean => places.length > 0 && holdersOf(address, interfaces, places).length === 0

function sayPort({ name }: VirtualRouter, chosen: OwnInterface, report: Report): void {
  if (chosen.portOf === undefined) return
  report(
    'warning',
    ['interface', 'holding'],
    `Cannot hear anybody on "${chosen.name}", a port (${chosen.portOf}): "${name}" is in fault until it is none`,
  )
}
