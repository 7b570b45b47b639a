/**
 * `interface: { holding: … }`: the virtual router runs on the interface that has a certain address of this node,
 * whatever its name (docs/configuration.md). This file decides which interface and which address that is. Files are
 * read elsewhere, and earlier choices are stored elsewhere.
 */
import { type Address, familyOf } from '../wire/address.ts'
import type { Config, VirtualRouter } from './config.ts'
import type { NamedAddress } from './named-address.ts'
import { familyName, familyOfAll } from './network.ts'
import type { OwnInterface, OwnView } from './node-view.ts'
import type { Report } from './problem.ts'
import type { Holding } from './schema/holding.ts'

/** Returns the key `holding` of a router, or `undefined` if its interface is a name or `auto`. */
export const holdingOf = ({ interface: on }: Pick<VirtualRouter, 'interface'>): Holding | undefined =>
  typeof on === 'string' ? undefined : on.holding

/** Returns the interface name in the configuration of a router; `undefined` if the configuration names no interface. */
export const nameOfInterface = ({ interface: on }: Pick<VirtualRouter, 'interface'>): string | undefined =>
  typeof on === 'string' && on !== 'auto' ? on : undefined

/** Returns the paths of all address files in the configuration, each once. */
export const addressFilesIn = ({ virtualRouters }: Pick<Config, 'virtualRouters'>): readonly string[] => [
  ...new Set(
    virtualRouters.flatMap((router) => {
      const holding = holdingOf(router)
      return holding !== undefined && 'file' in holding ? holding.file : []
    }),
  ),
]

/** The interface and address found for `interface: { holding: … }`. */
export type Held = {
  readonly file: string | undefined
  /**
   * Address of this node that chooses the interface; `undefined` until the address file has contained a usable address.
   * A later error in the file does not change this address.
   */
  readonly address: Address | undefined
  /** Names of all interfaces with the address, the chosen one first. */
  readonly on: readonly string[]
  /** Reason why the interface or the address is not the one of the configuration. `undefined` if it is that one. */
  readonly problem: string | undefined
}

export type Choice = { readonly chosen: OwnInterface | undefined; readonly held: Held }

/**
 * Chooses the interface for a router. The address that chose the interface before stays as long as an interface has it.
 * By this rule no VIP is removed while the address file is missing or unreadable, or names an address that no interface
 * has yet.
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
      `Cannot find the interface of "${router.name}": ${problem}; the router is in fault until that changes`,
    )
  }
  const file = 'file' in holding ? holding.file : undefined
  const wanted =
    'address' in holding ? { address: holding.address } : readingFor(router, files.get(holding.file)?.reading)
  const before = file === undefined ? undefined : files.get(file)?.inForce
  const holders = (address: Address) => holdersOf(address, interfaces, places.get(address) ?? [])
  let problem: string
  if ('problem' in wanted) problem = `${file}: ${wanted.problem}`
  else {
    const { address } = wanted
    const [chosen, ...others] = holders(address)
    if (chosen !== undefined) {
      warnAboutPort(router, chosen, report)
      return { chosen, held: { file, address, on: named([chosen, ...others]), problem: undefined } }
    }
    const said = file === undefined ? address : `${address} (from ${file})`
    problem = isVirtual(address, interfaces, places.get(address) ?? [])
      ? `${said} is a virtual address of this configuration, not an own address of this node`
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
    `Cannot use ${file} for "${router.name}": ${problem}; the router keeps ${before} on "${chosen.name}"`,
  )
  return { chosen, held: { file, address: before, on: named([chosen, ...others]), problem } }
}

const named = (interfaces: readonly OwnInterface[]): readonly string[] => interfaces.map(({ name }) => name)

/** Returns the address in the address file. An address of another family than the VIPs of the router is a problem. */
function readingFor(router: VirtualRouter, reading: NamedAddress['reading'] | undefined): NamedAddress['reading'] {
  if (reading === undefined) return { problem: 'it has not been read yet' }
  if ('problem' in reading) return reading
  const family = familyOfAll(router.addresses)
  if (familyOf(reading.address) === family) return reading
  return {
    problem: `it contains ${reading.address}, but the virtual addresses of "${router.name}" are ${familyName(family)}`,
  }
}

/**
 * Returns the interfaces that have the address. A port of a bridge receives no packets, so it is returned only if no
 * other interface has the address.
 */
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

function warnAboutPort({ name }: VirtualRouter, chosen: OwnInterface, report: Report): void {
  if (chosen.portOf === undefined) return
  report(
    'warning',
    ['interface', 'holding'],
    `Cannot receive packets on "${chosen.name}", which is a port (${chosen.portOf}): "${name}" is in fault while it is a port`,
  )
}
