/** Describes the effect of a health check on a router that tracks it, for the log and for `explain`. PURE. */
import type { EventOf } from './event.ts'

type Change = Pick<EventOf<'checkChanged'>, 'from' | 'to'>
type Effect = EventOf<'checkChanged'>['effects'][number]

/** Returns the effect of a check as text, such as `lowers web by 60`, `web priority unchanged`, `puts web in fault`. */
export function checkEffectText({ adds = 0, fault, router }: Effect, { from, to }: Change): string {
  if (fault === true) return `puts ${router} in fault`
  if (fault === false) return from === 'down' ? `no longer a fault of ${router}` : `${router} priority unchanged`
  if (adds !== 0) return `${adds < 0 ? 'lowers' : 'raises'} ${router} by ${Math.abs(adds)}`
  if (from === 'down') return `no longer lowers ${router}`
  return from === 'up' && to === 'down' ? `no longer raises ${router}` : `${router} priority unchanged`
}
