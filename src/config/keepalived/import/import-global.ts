/**
 * Reads the block global_defs: defaults for instances and scripts that do not set a value themselves. This file knows
 * nothing about instances.
 */

import { reasonOf } from '../keywords/keywords.ts'
import type { Surroundings } from '../source.ts'
import type { Line } from '../text/parser.ts'
import { type ImportReport, Section } from '../text/section.ts'
import { type Found, type Written, written } from '../written.ts'
import { type CheckDefaults, userOf } from './import-check.ts'

/** Interfaces that share the spacing of their announcements. */
export type GarpGroup = { readonly section: Section; readonly interfaces: readonly string[] }

export type Globals = {
  readonly version: Found<number>
  readonly defaultInterface: Written | undefined
  readonly scripts: CheckDefaults
  readonly onlyListedPeers: boolean
  readonly lowerPrioNoAdvert: Found<boolean>
  readonly higherPrioSendAdvert: Found<boolean>
  /**
   * Keywords of global_defs because of which every instance is refused. `unless` is the keyword by which an instance
   * overrides the global one.
   */
  readonly refusals: readonly { readonly line: Line; readonly unless: string | undefined; readonly message: string }[]
  readonly garpGroups: readonly GarpGroup[]
  readonly section: Section
}

/** Reads global_defs. Several blocks count as one. */
export function globalsOf(file: Section, report: ImportReport, surroundings: Surroundings): Globals {
  const blocks = file.all('global_defs')
  const section = new Section(
    'global_defs',
    blocks.flatMap(({ block }) => block ?? []),
    report,
  )
  const refusals: { line: Line; unless: string | undefined; message: string }[] = []
  const refuse = (name: string, unless: string | undefined, harmless: (line: Line) => boolean) => {
    const line = section.line(name)
    if (line === undefined) return
    if (harmless(line)) report.change(line, 'noEffect', 'this value is the default')
    else refusals.push({ line, unless, message: reasonOf('global_defs', name) })
  }
  const first = ({ words }: Line) => words[1]?.text
  refuse('vrrp_mcast_group4', 'mcast_dst_ip', (line) => first(line) === '224.0.0.18')
  refuse('vrrp_mcast_group6', 'mcast_dst_ip', (line) => first(line)?.toLowerCase() === 'ff02::12')
  refuse('vrrp_down_timer_adverts', 'down_timer_adverts', (line) => first(line) === '3')
  refuse('vrrp_strict', 'strict_mode', (line) => ['off', 'no', 'false'].includes(first(line) ?? ''))
  const namespace = file.line('net_namespace')
  if (namespace !== undefined)
    refusals.push({ line: namespace, unless: undefined, message: reasonOf('file', 'net_namespace') })
  const user = userOf(section.line('script_user'))
  const interfaceName = section.line('default_interface') && section.word('default_interface')
  const security = section.line('enable_script_security') !== undefined
  return {
    version: section.integer('vrrp_version', 2, 3),
    defaultInterface: interfaceName && written(interfaceName.text, interfaceName.at),
    scripts: { user: user ?? defaultScriptUser(surroundings, blocks), security },
    onlyListedPeers: section.line('vrrp_check_unicast_src') !== undefined,
    lowerPrioNoAdvert: section.flag('vrrp_lower_prio_no_advert'),
    higherPrioSendAdvert: section.flag('vrrp_higher_prio_send_advert'),
    refusals,
    garpGroups: file.all('garp_group').map((line) => garpGroupOf(line, report)),
    section,
  }
}

function garpGroupOf(line: Line, report: ImportReport): GarpGroup {
  const section = new Section('garp_group', line.block ?? [], report)
  const one = section.line('interface') && section.word('interface')
  const several = section.entries('interfaces').flatMap(({ words }) => words.map(({ text }) => text))
  return { section, interfaces: one === undefined ? several : [one.text, ...several] }
}

/** Returns the user keepalived_script, if the system has a user with that name. */
function defaultScriptUser({ scriptUser }: Surroundings, [block]: readonly Line[]): Written | undefined {
  if (scriptUser === undefined) return undefined
  return written(scriptUser, block?.at ?? { line: 1, column: 1 })
}
