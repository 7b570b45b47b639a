/**
 * Removes checks and notifications whose program must not run from a configuration. A router or group that tracks such
 * a check behaves as if the configuration did not have the tracker (observed with keepalived 2.2.7). A combination
 * keeps its other members. The reason of a removal is decided in files/script-problem.ts.
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
      /** Name of the router or the group. */
      readonly name: string
      readonly event: (typeof EVENTS)[number]
    }

/** Returns the configuration without the named programs. */
export function withoutPrograms(config: Config, leftOut: readonly LeftOut[]): Config {
  if (leftOut.length === 0) return config
  const healthchecks = remaining(config, leftOut)
  const names = new Set(healthchecks.map(nameOf))
  const entriesOf = <T extends Notified>(section: 'virtualRouters' | 'syncGroups', entries: readonly T[]): T[] =>
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
type Notified = { readonly name: string; readonly track: readonly Track[]; readonly notify?: Notify }

function notifyWithout(notify: Notify, events: readonly (typeof EVENTS)[number][]): Notify {
  if (notify === undefined || events.length === 0) return notify
  const left = { ...notify, ...Object.fromEntries(events.map((event) => [event, undefined])) }
  return EVENTS.some((event) => left[event] !== undefined) ? left : undefined
}

/**
 * Returns the remaining health checks. A combination without members is removed as well; checksOf() returns members
 * before combinations.
 */
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
