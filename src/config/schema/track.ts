/**
 * The trackers of a virtual router or a sync group, with their weights (VR-TRK-01). A tracker names an interface or a
 * health check, never both. This file knows nothing about whether the name exists (cross-check.ts,
 * healthcheck-problem.ts), and the effect of a weight (weights.ts).
 */
import type * as z from 'zod'
import { flag, interfaceName, itemName, section, whole } from './field.ts'

export type TrackedInterface = { readonly interface: string; readonly weight: number }
export type TrackedHealthcheck = { readonly healthcheck: string; readonly weight: number; readonly reverse: boolean }
export type Track = TrackedInterface | TrackedHealthcheck

/**
 * Largest weight of a tracker. 254 is for files and processes only, which healthcheck-problem.ts checks (VR-TRK-01).
 */
export const GREATEST_WEIGHT = 254
export const USUAL_WEIGHT = 253

const keys = section(
  {
    interface: interfaceName()
      .optional()
      .describe('Name of an interface; the interface counts as up if it is administratively up and has carrier'),
    healthcheck: itemName().optional().describe('Name of a check under healthchecks'),
    weight: whole(-GREATEST_WEIGHT, GREATEST_WEIGHT)
      .default(0)
      .describe(
        'Change of the priority: a positive weight counts while the tracked item is up, a negative weight while the tracked item is down; 0: the router is in fault while the tracked item is down',
      ),
    reverse: flag()
      .optional()
      .describe(
        'For health checks only: the weight is subtracted instead of added, and 0 is a fault while the check is up',
      ),
  },
  'a mapping with weight, and interface or healthcheck',
)

export const trackSchema = keys.transform((entry, context): Track => {
  const { interface: link, healthcheck, weight, reverse } = entry
  const refuse = (path: readonly (keyof typeof entry)[], message: string, isWhole = false) =>
    context.issues.push({ code: 'custom', message, input: entry, path: [...path], params: { isWhole } })
  if (healthcheck !== undefined && link === undefined) return { healthcheck, weight, reverse: reverse ?? false }
  if (link === undefined) refuse([], 'interface or healthcheck')
  else if (healthcheck !== undefined) refuse(['healthcheck'], 'either interface or healthcheck')
  else if (Math.abs(weight) > USUAL_WEIGHT) refuse(['weight'], `an integer from -${USUAL_WEIGHT} to ${USUAL_WEIGHT}`)
  else if (reverse !== undefined) refuse(['reverse'], 'only together with healthcheck', true)
  return { interface: link ?? '', weight }
}) satisfies z.ZodType<Track>

export const isInterface = (tracker: Track): tracker is TrackedInterface => 'interface' in tracker

/** Returns the name of the tracked interface or health check, for messages. */
export const trackedName = (tracker: Track): string => (isInterface(tracker) ? tracker.interface : tracker.healthcheck)

export const trackerKind = (tracker: Track) => (isInterface(tracker) ? 'interface' : 'healthcheck')

/**
 * Returns a key that is unique among trackers. The key contains the kind, because an interface and a check may have the
 * same name.
 */
export const trackerKey = (tracker: Track): string => `${trackerKind(tracker)} ${trackedName(tracker)}`

export const interfacesIn = (track: readonly Track[]): readonly TrackedInterface[] => track.filter(isInterface)

export const healthchecksIn = (track: readonly Track[]): readonly TrackedHealthcheck[] =>
  track.flatMap((tracker) => (isInterface(tracker) ? [] : [tracker]))
