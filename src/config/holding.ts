/**
 * `interface: { holding: … }`: the virtual router runs on the interface that has a certain address of this node, whatever its
 * name (docs/configuration.md). Decided here: which interface and which address that is. This file does not read files, nor
 * remember what they said.
 */
import { type Address, familyOf } from '../wire/address.ts'
import type { Config, VirtualRouter } from './config.ts'
import type { NamedAddress } from './named-address.ts'
import { familyName, familyOfAll } from './network.ts'
import type { OwnInterface, OwnView } from './node-view.ts'
import type { Report } from './problem.ts'
import type { Holding } from './schema/holding.ts'

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
