/**
 * Reads a vrrp_sync_group. Members that do not exist are ignored, as in keepalived, and a group without members is
 * dropped. This file knows nothing about the keywords of an instance.
 */

import { reasonOf } from '../keywords/keywords.ts'
import type { Surroundings } from '../source.ts'
import type { Line } from '../text/parser.ts'
import { type ImportReport, Section } from '../text/section.ts'
import { mapping, type Written, written } from '../written.ts'
import type { Globals } from './import-global.ts'
import type { Instance } from './import-instance.ts'
import { notifyOf } from './import-notify.ts'
import { type Checks, tracksOf } from './import-track.ts'

export type Group = {
  readonly entry: Written | undefined
  /** Reason why every member of the sync group stays in fault; `undefined` if the group was accepted. */
  readonly refusal: string | undefined
  readonly members: readonly Instance[]
}

/** Returns a sync group as an entry of `syncGroups`. */
export function groupOf(
  line: Line,
  name: string,
  instances: ReadonlyMap<string, Instance>,
  checks: Checks,
  report: ImportReport,
  globals: Globals,
  surroundings: Surroundings,
): Group {
  const section = new Section('vrrp_sync_group', line.block ?? [], report)
  const members = section.entries('group').flatMap(({ words }) =>
    words.flatMap((word) => {
      const instance = instances.get(word.text)
      if (instance?.router !== undefined) return [{ word, instance }]
      if (instance === undefined)
        report.warn(
          word.at,
          `Cannot use "${word.text}" in a sync group: there is no such instance; the member is ignored, as in keepalived`,
        )
      return []
    }),
  )
  const tracks = tracksOf(section, checks)
  const refusals = [...tracks.refusals]
  const apart = section.line('sync_group_tracking_weight') ?? section.line('global_tracking')
  const weighted = members.some(({ instance }) => instance.weighted)
  if (apart !== undefined && weighted)
    refusals.push({ line: apart, message: reasonOf('vrrp_sync_group', 'sync_group_tracking_weight') })
  else if (apart !== undefined) report.change(apart, 'noEffect', 'no member has a weight of its own')
  const bfd = section.line('track_bfd')
  if (bfd !== undefined) refusals.push({ line: bfd, message: reasonOf('vrrp_sync_group', 'track_bfd') })
  for (const { line: refused, message } of refusals) report.refuse(refused, message)
  const [first] = refusals
  const at = line.words[1]?.at ?? line.at
  const all = members.map(({ instance }) => instance)
  if (members.length === 0) {
    report.change(line, 'noEffect', 'the group has no member')
    return { entry: undefined, refusal: undefined, members: all }
  }
  const entry = mapping(
    {
      name: written(name, at),
      members: written(
        members.map(({ word, instance }) => written(instance.name, word.at)),
        section.line('group')?.at ?? at,
      ),
      notify: notifyOf(section, globals.scripts, surroundings),
      track: tracks.entries.length === 0 ? undefined : written(tracks.entries, at),
    },
    line.at,
  )
  const refusal = first && `${first.line.at.file ?? ''}:${first.line.at.line}: ${first.message}`
  return { entry, refusal, members: all }
}
