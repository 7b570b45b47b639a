/**
 * The network that somebody wants the node's address from, named by an address in it that no node has. Decided here: which
 * of the words of an environment and of systemd's environment file holds. Refuses to know where the file is.
 */
import { type Address, parseAddress } from '../../../wire/address.ts'

/** The newer name wins, as in the units that pass it on. */
const NAMES = ['NODEIP_HINT', 'KUBELET_NODEIP_HINT'] as const

export type Environment = Readonly<Record<string, string | undefined>>
export type Hint = { readonly addresses: readonly Address[]; readonly from: string | undefined }

/** systemd.exec(5), EnvironmentFile=: comments, empty lines, one pair of quotes around a value; the last one holds. */
export function environmentIn(text: string): Environment {
  const pairs = text.split('\n').flatMap((line): [string, string][] => {
    const [, name, value = ''] = /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    const quoted = /^(["'])(.*)\1$/.exec(value)
    return name === undefined ? [] : [[name, quoted?.[2] ?? value]]
  })
  return Object.fromEntries(pairs)
}

/** The first source that names one holds. A string says what is no address. */
export function hintIn(sources: readonly { readonly name: string; readonly words: Environment }[]): Hint | string {
  for (const { name: source, words } of sources) {
    for (const name of NAMES) {
      const said = words[name]?.split(/[\s,]+/).filter((word) => word !== '') ?? []
      if (said.length === 0) continue
      const addresses = said.map(parseAddress)
      const wrong = addresses.indexOf(undefined)
      if (wrong >= 0) return `Cannot use "${said[wrong]}" of ${name} in ${source}: it is no IP address`
      return { addresses: addresses.flatMap((address) => address ?? []), from: `${name} in ${source}` }
    }
  }
  return { addresses: [], from: undefined }
}
