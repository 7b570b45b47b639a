/**
 * When and how often an Active announces its addresses: the keys of `announce`, and what the profile makes of those that
 * are not written. Decided here: the schedule of each profile (docs/architecture.md, Announcements; VR-GARP-01, -02, -04). This file
 * does not know frames, nor how many an interface may send at once.
 */
import * as z from 'zod'
import type { ProfileName } from '../../vrrp/profile.ts'
import type { Family } from '../../wire/address.ts'
import { type Millis, millis } from '../../wire/units.ts'
import { duration, list, section, whole } from './field.ts'

const SECOND = 1000
const MINUTE = 60_000
const HOUR = 3_600_000
const MOST_COPIES = 100

const risesFromZero = (values: readonly number[]) =>
  values[0] === 0 && values.every((value, i) => i === 0 || value > (values[i - 1] ?? 0))
const AT_WANTED = '1 to 20 durations wanted that start with 0ms and rise'

const spacing = () =>
  duration(0, MINUTE)
    .optional()
    .transform((value) => (value === 0 ? undefined : value))

export const announceSchema = section(
  {
    at: list(duration(0, HOUR), AT_WANTED)
      .refine((values) => values.length <= 20 && risesFromZero(values), { error: AT_WANTED })
      .optional()
      .describe(
        'When gratuitous ARP or unsolicited NA is sent after a takeover, default [0ms, 20ms, 100ms, 500ms, 2s, 5s], IPv6 [0ms, 1s, 2s]',
      ),
    copies: whole(1, MOST_COPIES).optional().describe('How many frames an address gets at each of them, default 1'),
    refresh: z
      .union([z.literal(false), duration(SECOND, 24 * HOUR)], { error: 'a duration from 1s to 24h or false wanted' })
      .optional()
      .describe('How often an Active repeats it, false = never, default 60s'),
    refreshCopies: whole(1, MOST_COPIES).optional().describe('How many frames an address gets at a refresh, default 1'),
    onRival: section(
      {
        copies: whole(0, MOST_COPIES).describe('How many frames an address gets when a rival is heard'),
        delay: duration(0, HOUR).prefault('0s').describe('So many once more, so long after it; 0s = not once more'),
      },
      'a mapping with copies and delay wanted',
    )
      .optional()
      .describe('When a rival is heard, default 0, 50 and 200 ms, IPv6 0, 1 and 2 s'),
    spacing: spacing().describe('Least time between two gratuitous ARP of the interface, default by number'),
    spacingNa: spacing().describe('Least time between two unsolicited NA of the interface, default by number'),
  },
  'a mapping with at and refresh wanted',
)

export type AnnounceKeys = z.output<typeof announceSchema>

export type AnnounceSchedule = {
  /** After the takeover; from 0 on. A moment that comes twice is two frames for each address. */
  readonly at: readonly Millis[]
  readonly refresh: Millis | undefined
  /** Undefined = 1. */
  readonly refreshCopies?: number | undefined
  /** After a rival was heard, as `at`. Undefined: what arp/announcement.ts says. */
  readonly onRival?: readonly Millis[] | undefined
  /** Between two frames of the interface. Undefined: the pacer's own rates. */
  readonly spacing?: { readonly [family in Family]: Millis | undefined } | undefined
}

/** RFC 4861 §7.2.6 asks for a second between unsolicited advertisements, and for three at most. */
const HOLDFAST_AT: Readonly<Record<Family, readonly number[]>> = {
  ipv4: [0, 20, 100, 500, 2000, 5000],
  ipv6: [0, 1000, 2000],
}
const HOLDFAST_REFRESH = millis(60_000)
/** keepalived's garp_master_repeat and _delay; its IPv6 is not kinder (VR-GARP-07). */
const KEEPALIVED = { copies: 5, delay: 5000 }
/** Design: Rivals. keepalived has none of these, and a rival's own announcements come in between. */
const RIVAL_AGAIN: Readonly<Record<Family, readonly number[]>> = { ipv4: [50, 200], ipv6: [1000, 2000] }

export function announceSchedule(keys: AnnounceKeys, profile: ProfileName, family: Family): AnnounceSchedule {
  const like = profile === 'keepalived'
  const once = profile === 'rfc9568'
  const moments = keys.at ?? (once ? [0] : like ? [0, KEEPALIVED.delay] : HOLDFAST_AT[family])
  const refresh = keys.refresh ?? (once || like ? false : HOLDFAST_REFRESH)
  const spaced = keys.spacing !== undefined || keys.spacingNa !== undefined
  return {
    at: blocks(moments, keys.copies ?? (like ? KEEPALIVED.copies : 1)),
    refresh: refresh === false ? undefined : refresh,
    refreshCopies: keys.refreshCopies,
    onRival: onRival(keys, like, family),
    spacing: spaced ? { ipv4: keys.spacing, ipv6: keys.spacingNa } : undefined,
  }
}

function onRival({ onRival }: AnnounceKeys, like: boolean, family: Family): readonly Millis[] | undefined {
  if (onRival !== undefined) return blocks(onRival.delay > 0 ? [0, onRival.delay] : [0], onRival.copies)
  if (!like) return undefined
  const { copies, delay } = KEEPALIVED
  return [...blocks([0, delay], copies), ...RIVAL_AGAIN[family].map(millis)].sort((a, b) => a - b)
}

const blocks = (moments: readonly number[], copies: number): readonly Millis[] =>
  moments.flatMap((moment) => Array.from({ length: copies }, () => millis(moment)))
