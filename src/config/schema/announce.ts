/**
 * When and how often an Active announces its addresses: the keys of `announce`, and the defaults of each profile
 * (docs/architecture.md, Announcements; VR-GARP-01, -02, -04). This file decides the schedule. This file knows nothing
 * about frames, and how many of them an interface may send at the same time.
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
const AT_EXPECTED = '1 to 20 durations, the first 0ms and each greater than the one before'

const spacing = () =>
  duration(0, MINUTE)
    .optional()
    .transform((value) => (value === 0 ? undefined : value))

export const announceSchema = section(
  {
    at: list(duration(0, HOUR), AT_EXPECTED)
      .refine((values) => values.length <= 20 && risesFromZero(values), { error: AT_EXPECTED })
      .optional()
      .describe(
        'Times after a takeover at which gratuitous ARP or unsolicited NA is sent, default: [0ms, 20ms, 100ms, 500ms, 2s, 5s], IPv6 [0ms, 1s, 2s]',
      ),
    copies: whole(1, MOST_COPIES)
      .optional()
      .describe('Number of frames for each address at each of these times, default: 1'),
    refresh: z
      .union([z.literal(false), duration(SECOND, 24 * HOUR)], { error: 'a duration from 1s to 24h, or false' })
      .optional()
      .describe('Time after which an Active announces its addresses again, default: 60s; false: never'),
    refreshCopies: whole(1, MOST_COPIES)
      .optional()
      .describe('Number of frames for each address at a refresh, default: 1'),
    onRival: section(
      {
        copies: whole(0, MOST_COPIES).describe('Number of frames for each address when a competing Active is heard'),
        delay: duration(0, HOUR)
          .prefault('0s')
          .describe('Time after which the same number of frames is sent once more; 0s: not again'),
      },
      'a mapping with copies and delay',
    )
      .optional()
      .describe(
        'Announcements when a competing Active is heard, default: after 0, 50 and 200 ms, IPv6 after 0, 1 and 2 s',
      ),
    spacing: spacing().describe(
      'Shortest time between two gratuitous ARP frames of the interface, default: depends on their number',
    ),
    spacingNa: spacing().describe(
      'Shortest time between two unsolicited NA of the interface, default: depends on their number',
    ),
  },
  'a mapping with at and refresh',
)

export type AnnounceKeys = z.output<typeof announceSchema>

export type AnnounceSchedule = {
  /** Times of the announcements after a takeover, from 0. A repeated time gives several frames for each address. */
  readonly at: readonly Millis[]
  readonly refresh: Millis | undefined
  /** Number of frames for each address at a refresh; `undefined` means 1. */
  readonly refreshCopies?: number | undefined
  /**
   * Times of the announcements after an advertisement of a competing Active, in the form of `at`. `undefined`: the
   * schedule of arp/announcement.ts.
   */
  readonly onRival?: readonly Millis[] | undefined
  /**
   * For each address family, the shortest time between two announcement frames of the interface; `undefined`: the usual
   * rate limits.
   */
  readonly spacing?: { readonly [family in Family]: Millis | undefined } | undefined
}

/** RFC 4861 §7.2.6 asks for at least one second between unsolicited advertisements, and for three of them at most. */
const HOLDFAST_AT: Readonly<Record<Family, readonly number[]>> = {
  ipv4: [0, 20, 100, 500, 2000, 5000],
  ipv6: [0, 1000, 2000],
}
const HOLDFAST_REFRESH = millis(60_000)
/**
 * Defaults of keepalived's garp_master_repeat and garp_master_delay. keepalived uses the same values for IPv6
 * (VR-GARP-07).
 */
const KEEPALIVED = { copies: 5, delay: 5000 }
/**
 * Further announcements with profile `keepalived`, in milliseconds after a competing Active was heard. keepalived
 * itself makes no further announcements. holdfast makes them, because the competing Active announces the same VIPs.
 */
const COMPETING_AGAIN: Readonly<Record<Family, readonly number[]>> = { ipv4: [50, 200], ipv6: [1000, 2000] }

/** Returns the schedule of a router's announcements. */
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
  return [...blocks([0, delay], copies), ...COMPETING_AGAIN[family].map(millis)].sort((a, b) => a - b)
}

const blocks = (moments: readonly number[], copies: number): readonly Millis[] =>
  moments.flatMap((moment) => Array.from({ length: copies }, () => millis(moment)))
