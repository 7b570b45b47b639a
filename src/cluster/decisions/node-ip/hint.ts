/**
 * Reads the hint: an address, which no node has, in the network from which the node's address is chosen. This file
 * decides which variable of the environment, or of systemd's environment file, counts.
 */
import { refusedValue } from '../../../base/refused-value.ts'
import { type Address, parseAddress } from '../../../wire/address.ts'

/**
 * Names of the environment variable with the hint; the first name wins, as in the systemd units that pass the hint on.
 */
const NAMES = ['NODEIP_HINT', 'KUBELET_NODEIP_HINT'] as const

export type Environment = Readonly<Record<string, string | undefined>>
export type Hint = { readonly addresses: readonly Address[]; readonly from: string | undefined }

/**
 * Reads an environment file as in systemd.exec(5): comments, empty lines, one pair of quotes around a value. If a name
 * is repeated, its last line counts.
 */
export function environmentIn(text: string): Environment {
  const pairs = text.split('\n').flatMap((line): [string, string][] => {
    const [, name, value = ''] = /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    const quoted = /^(["'])(.*)\1$/.exec(value)
    return name === undefined ? [] : [[name, quoted?.[2] ?? value]]
  })
  return Object.fromEntries(pairs)
}

/**
 * Returns the hint of the first source that has a hint. Returns an error text if the hint contains a word that is no
 * address.
 */
export function hintIn(sources: readonly { readonly name: string; readonly variables: Environment }[]): Hint | string {
  for (const { name: source, variables } of sources) {
    for (const name of NAMES) {
      const said = variables[name]?.split(/[\s,]+/).filter((word) => word !== '') ?? []
      if (said.length === 0) continue
      const addresses = said.map(parseAddress)
      const wrong = addresses.indexOf(undefined)
      if (wrong >= 0) return refusedValue(`${name} in ${source}`, said[wrong], 'an IP address')
      return { addresses: addresses.flatMap((address) => address ?? []), from: `${name} in ${source}` }
    }
  }
  return { addresses: [], from: undefined }
}
