/**
 * Finds keywords of an instance that holdfast cannot follow without changing packets or the election. This file decides
 * which of these keywords are harmless, because they only repeat a default. This file knows nothing about what happens
 * to a refused instance.
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

/** Returns the reasons to refuse an instance. */
export function refusalsOf(section: Section, globals: Globals): readonly Refusal[] {
  const own = KEYWORDS.filter(({ block, handling }) => block === 'vrrp_instance' && handling === 'refused').flatMap(
    ({ name }): Refusal[] => {
      const line = section.line(name)
      if (line === undefined) return []
      if (HARMLESS[name]?.(line.words[1]?.text ?? '') !== true)
        return [{ line, message: reasonOf('vrrp_instance', name) }]
      section.report.change(line, 'noEffect', 'this value is the default')
      return []
    },
  )
  const inherited = globals.refusals.filter(({ unless }) => unless === undefined || section.line(unless) === undefined)
  return [...own, ...inherited]
}
