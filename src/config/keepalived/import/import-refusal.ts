/**
 * What an instance says that cannot be done without changing packets or election. Decided here: which of it is harmless
 * after all, because it says what holds anyway. This file does not know what becomes of an instance that is refused.
 */

import { KEYWORDS, reasonOf } from '../keywords/keywords.ts'
import type { Line } from '../text/parser.ts'
import type { Section } from '../text/section.ts'
import type { Globals } from './import-global.ts'

export type Refusal = { readonly line: Line; readonly message: string }

const HARMLESS: Readonly<Record<string, (value: string) => boolean>> = {
  down_timer_adverts: (value) => value === '3',
  strict_mode: (value) => ['off', 'no', 'false'].includes(value),
  mcast_dst_ip: (value) => value === '224.0.0.18' || value.toLowerCase() === 'ff02::12',
  old_unicast_checksum: (value) => value === 'never',
}

export function refusalsOf(section: Section, globals: Globals): readonly Refusal[] {
  const own = KEYWORDS.filter(({ block, fate }) => block === 'vrrp_instance' && fate === 'refused').flatMap(
    ({ name }): Refusal[] => {
      const line = section.line(name)
      if (line === undefined) return []
      if (HARMLESS[name]?.(line.words[1]?.text ?? '') !== true)
        return [{ line, message: reasonOf('vrrp_instance', name) }]
      section.ledger.turn(line, 'noEffect', 'it says what holds anyway')
      return []
    },
  )
  const inherited = globals.refusals.filter(({ unless }) => unless === undefined || section.line(unless) === undefined)
  return [...own, ...inherited]
}
