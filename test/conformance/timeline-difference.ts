/**
 * Differences between a replay of a timeline and the expectation of its vector, in both directions. Decides what is
 * compared. Knows no setting and no reason.
 */
import type { ResolvedRouter } from '../../src/config/resolve.ts'
import { type TimelineVector, timelineVectors } from './statemachine-vectors.ts'
import { type Line, TimelineReplay } from './timeline-replay.ts'

const { tolerance } = timelineVectors()

export type Difference = { readonly missing: readonly Line[]; readonly extra: readonly Line[] }

export const NONE: Difference = { missing: [], extra: [] }

export function differenceOf(vector: TimelineVector, read?: ReadonlyMap<string, ResolvedRouter>): Difference {
  const extra = comparable(new TimelineReplay(vector, read).play(), vector)
  const missing = comparable(wanted(vector), vector).filter((line) => {
    const found = extra.findIndex(
      ({ at, instance, text }) =>
        instance === line.instance && text === line.text && Math.abs(at - line.at) <= tolerance,
    )
    if (found >= 0) extra.splice(found, 1)
    return found < 0
  })
  return { missing, extra }
}

/**
 * Returns the lines to compare. VR-FSM-25: keepalived restarts Adver_Timer after an immediate advertisement, RFC 9568
 * §6.4.3 does not. The tests accept the two behaviours: from the first such advertisement on, only answers to an event
 * are compared.
 */
function comparable(lines: readonly Line[], { events }: TimelineVector): Line[] {
  const answers = ({ at }: Line) => events.some((event) => event.type === 'advert' && event.at_us === at)
  const first = lines.find((line) => line.text.startsWith('advert') && answers(line))?.at ?? Number.POSITIVE_INFINITY
  return lines.filter((line) => !line.text.startsWith('advert') || line.at <= first || answers(line))
}

/**
 * Returns the expected lines. Lines of a group and of a changed priority need notifications, so they are left out.
 * keepalived sends priority 0 of a fault twice; the notes accept one.
 */
function wanted(vector: TimelineVector): Line[] {
  const lines = vector.expect.flatMap((line): Line[] => {
    const { at_us: at, instance } = line
    if (instance === undefined) return []
    if (line.type === 'advert') return [{ at, instance, text: `advert ${line.priority} ${line.interval_cs}` }]
    if (line.type === 'garp') {
      return Array.from({ length: line.count ?? 1 }, () => ({ at, instance, text: `garp ${line.address}` }))
    }
    const text = `notify ${line.line}`
    return text.includes('_PRIORITY ') ? [] : [{ at, instance, text }]
  })
  return lines.filter(
    (line, i) =>
      !line.text.startsWith('advert 0 ') ||
      lines.findIndex((same) => same.text === line.text && same.at === line.at && same.instance === line.instance) ===
        i,
  )
}
