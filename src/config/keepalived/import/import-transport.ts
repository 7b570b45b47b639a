/**
 * Converts the keywords unicast_peer, unicast_src_ip, mcast_src_ip and unicast_ttl to the key `transport`. An empty
 * list of peers means multicast, as in keepalived.
 */
import { refusedValue } from '../../../base/refused-value.ts'
import type { Family } from '../../../wire/address.ts'
import { familyName } from '../../network.ts'
import type { Line } from '../text/parser.ts'
import type { Section } from '../text/section.ts'
import { mapping, type Written, written } from '../written.ts'
import { familyIn } from './import-address.ts'
import type { Refusal } from './import-refusal.ts'

/** Returns the key `transport`, or `undefined` for multicast from the default source. */
export function transportOf(section: Section, family: Family, refusals: Refusal[]): Written | undefined {
  const blocks = section.all('unicast_peer')
  const peers = section.entries('unicast_peer').flatMap((line) => peerOf(line, family, section))
  const [own, group] = [sourceIn(section, family, 'unicast_src_ip'), sourceIn(section, family, 'mcast_src_ip')]
  const source = own ?? group
  const alone = section.line('unicast_fault_no_peer')
  const ttl = section.integer('unicast_ttl', 0, 255)
  const [first] = blocks
  if (peers.length > 0) {
    const at = first?.at ?? source?.at ?? { line: 1, column: 1 }
    const hops = ttl && written(Math.max(1, ttl.value), ttl.at)
    return mapping({ unicast: mapping({ source, peers: written(peers, at), ttl: hops }, at) }, at)
  }
  const odd = first ?? section.line('unicast_src_ip')
  if (odd !== undefined && alone !== undefined)
    refusals.push({ line: alone, message: 'there are no unicast peers, and "unicast_fault_no_peer" is set' })
  else if (odd !== undefined)
    section.report.warn(odd.at, 'There are no unicast peers, so this instance uses multicast, as keepalived does')
  if (alone !== undefined && odd === undefined) section.report.change(alone, 'noEffect', 'the instance uses multicast')
  const hops = section.line('unicast_ttl')
  if (hops !== undefined) section.report.change(hops, 'noEffect', 'the instance uses multicast')
  return source && mapping({ multicast: mapping({ source }, source.at) }, source.at)
}

function sourceIn(section: Section, family: Family, keyword: string): Written | undefined {
  const line = section.line(keyword)
  const word = line && section.word(keyword)
  if (line === undefined || word === undefined) return undefined
  if (familyIn(word.text) === family) return written(word.text, word.at)
  section.ignore(line, `an ${familyName(family)} address`, word)
  return undefined
}

function peerOf(line: Line, family: Family, section: Section): Written[] {
  const [address, ...options] = line.words
  if (address === undefined) return []
  if (familyIn(address.text) !== family) {
    const message = refusedValue('unicast_peer', address.text, `an ${familyName(family)} address`)
    section.report.warn(address.at, `${message}; the peer is ignored, as in keepalived`)
    return []
  }
  const bound = (name: string): Written | undefined => {
    const index = options.findIndex(({ text }) => text === name)
    const word = index < 0 ? undefined : options[index + 1]
    return word !== undefined && /^\d{1,3}$/.test(word.text) ? written(Number(word.text), word.at) : undefined
  }
  const [minTtl, maxTtl] = [bound('min_ttl'), bound('max_ttl')]
  const plain = written(address.text, address.at)
  return [minTtl === undefined && maxTtl === undefined ? plain : mapping({ address: plain, minTtl, maxTtl }, line.at)]
}
