/**
 * A configuration without programs that are not to be run. Decided here: whoever tracked such a check does as if the file
 * did not say so (keepalived 2.2.7, observed), and a combination goes on with the members that are left. This file does
 * not know why one is left out (files/script-problem.ts).
 */
import { checksOf, nameOf } from './checks.ts'
import type { Config } from './config.ts'
import { EVENTS } from './schema/notify.ts'
import { isInterface, type Track } from './schema/track.ts'

export type LeftOut =
  | { readonly kind: 'healthcheck'; readonly name: string }
  | {
      readonly kind: 'notify'
      readonly section: 'virtualRouters' | 'syncGroups'
      /** Of the router or the group. */
      readonly name: string
      readonly event: (typeof EVENTS)[number]
    }

export function withoutPrograms(config: Config, leftOut: readonly LeftOut[]): Config {
  if (leftOut.length === 0) return config
  const healthchecks = remaining(config, leftOut)
  const names = new Set(healthchecks.map(nameOf))
  const entriesOf = <T extends Told>(section: 'virtualRouters' | 'syncGroups', entries: readonly T[]): T[] =>
    entries.map((entry) => {
      const events = leftOut.flatMap((each) =>
        each.kind === 'notify' && each.section === section && each.name === entry.name ? [each.event] : [],
      )
      const track = entry.track.filter((tracker) => isInterface(tracker) || names.has(tracker.healthcheck))
      return { ...entry, track, notify: notifyWithout(entry.notify, events) }
    })
  return {
    ...config,
    healthchecks,
    virtualRouters: entriesOf('virtualRouters', config.virtualRouters),
    syncGroups: entriesOf('syncGroups', config.syncGroups),
  }
}

type Notify = Config['virtualRouters'][number]['notify']
type Told = { readonly name: string; readonly track: readonly Track[]; readonly notify?: Notify }

function notifyWithout(notify: Notify, events: readonly (typeof EVENTS)[number][]): Notify {
  if (notify === undefined || events.length === 0) return notify
  const left = { ...notify, ...Object.fromEntries(events.map((event) => [event, undefined])) }
  return EVENTS.some((event) => left[event] !== undefined) ? left : undefined
}

/** One that is made of nothing any more is left out as well; members come before who is made of them. */
function remaining(config: Config, leftOut: readonly LeftOut[]): Config['healthchecks'] {
  const gone = new Set(leftOut.flatMap((each) => (each.kind === 'healthcheck' ? [each.name] : [])))
  for (const check of checksOf(config))
    if (check.kind === 'combination' && check.members.every((member) => gone.has(member))) gone.add(check.name)
  return config.healthchecks
    .filter((check) => !gone.has(nameOf(check)))
    .map((check) =>
      check.kind === 'probe' ? check : { ...check, members: check.members.filter((member) => !gone.has(member)) },
    )
}
