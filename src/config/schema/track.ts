/**
 * What a virtual router or a sync group tracks, and what that weighs (VR-TRK-01). Decided here: that an entry names an
 * interface or a health check, never both. This file does not know whether what is named exists (cross-check.ts,
 * healthcheck-problem.ts), nor what a weight comes to (weights.ts).
 */
import type * as z from 'zod'
import { flag, interfaceName, itemName, section, whole } from './field.ts'

export type TrackedInterface = { readonly interface: string; readonly weight: number }
export type TrackedHealthcheck = { readonly healthcheck: string; readonly weight: number; readonly reverse: boolean }
export type Track = TrackedInterface | TrackedHealthcheck

/** VR-TRK-01: 254 is for files and processes alone, which healthcheck-problem.ts sees to. */
export const GREATEST_WEIGHT = 254
export const USUAL_WEIGHT = 253

const keys = section(
  {
    interface: interfaceName().optional().describe('Up means administratively up and with carrier'),
    healthcheck: itemName().optional().describe('Name of a check under healthchecks'),
    weight: whole(-GREATEST_WEIGHT, GREATEST_WEIGHT)
      .default(0)
      .describe('Added while up (positive) or while down (negative); 0 = the router is in fault while it is down'),
    reverse: flag()
      .optional()
      .describe(
        'Health checks only: the weight is taken away where it would be added, and 0 is a fault while it is up',
      ),
  },
  'a mapping with interface or healthcheck, and weight wanted',
)

export const trackSchema = keys.transform((entry, context): Track => {
  const { interface: link, healthcheck, weight, reverse } = entry
  const refuse = (path: readonly (keyof typeof entry)[], message: string) =>
    context.issues.push({ code: 'custom', message, input: entry, path: [...path] })
  if (healthcheck !== undefined && link === undefined) return { healthcheck, weight, reverse: reverse ?? false }
  if (link === undefined) refuse([], 'interface or healthcheck wanted')
  else if (healthcheck !== undefined) refuse(['healthcheck'], 'either interface or healthcheck wanted')
  else if (Math.abs(weight) > USUAL_WEIGHT)
    refuse(['weight'], `a whole number from -${USUAL_WEIGHT} to ${USUAL_WEIGHT} wanted`)
  else if (reverse !== undefined) refuse(['reverse'], 'it goes with healthcheck')
  return { interface: link ?? '', weight }
}) satisfies z.ZodType<Track>

export const isInterface = (tracker: Track): tracker is TrackedInterface => 'interface' in tracker

/** As it is called in a sentence. */
export const trackedName = (tracker: Track): string => (isInterface(tracker) ? tracker.interface : tracker.healthcheck)

export const trackerKind = (tracker: Track) => (isInterface(tracker) ? 'interface' : 'healthcheck')

/** An interface and a check may have the same name. */
export const trackerKey = (tracker: Track): string => `${trackerKind(tracker)} ${trackedName(tracker)}`

export const interfacesIn = (track: readonly Track[]): readonly TrackedInterface[] => track.filter(isInterface)

export const healthchecksIn = (track: readonly Track[]): readonly TrackedHealthcheck[] =>
  track.flatMap((tracker) => (isInterface(tracker) ? [] : [tracker]))
