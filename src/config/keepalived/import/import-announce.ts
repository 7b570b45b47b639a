/**
 * Converts the keywords garp_* and their global defaults to a schedule of announcements. This file decides the default
 * of each keyword (VR-GARP-04). Keywords that are missing in the keepalived file keep the values of `profile:
 * keepalived`.
 */
import { formatDuration } from '../../schema/duration.ts'
import type { Section } from '../text/section.ts'
import { type Fields, type Found, mapping, type Written, written } from '../written.ts'
import type { Globals } from './import-global.ts'

const MOST_COPIES = 100
const LONGEST_DELAY = 3600
const DEFAULT = { copies: 5, delay: 5000 }

/**
 * Returns the key `announce` of an instance; `undefined` if neither the instance nor global_defs has a keyword about
 * announcements.
 */
export function announceOf(section: Section, globals: Globals, device: Written['value']): Written | undefined {
  const all = globals.section
  const least = all.flag('vrrp_min_garp')
  const fewer = least?.value === true ? least : undefined
  const copies = (name: string, from: number) =>
    integer(section, `garp_${name}`, from) ?? integer(all, `vrrp_garp_${name}`, from)
  const delay = (name: string) => seconds(section, `garp_${name}`) ?? seconds(all, `vrrp_garp_${name}`)

  const repeat = copies('master_repeat', 1) ?? (fewer && { value: 1, at: fewer.at })
  const again = delay('master_delay') ?? (fewer && { value: 0, at: fewer.at })
  const refresh = delay('master_refresh')
  const refreshCopies = copies('master_refresh_repeat', 1)
  // The instance's own garp_master values have no effect on these announcements; those of global_defs have.
  const competingCopies =
    copies('lower_prio_repeat', 0) ??
    integer(all, 'vrrp_garp_master_repeat', 1) ??
    (fewer && { value: 1, at: fewer.at })
  const competingDelay =
    delay('lower_prio_delay') ?? seconds(all, 'vrrp_garp_master_delay') ?? (fewer && { value: 0, at: fewer.at })
  const competingAt = competingCopies?.at ?? competingDelay?.at
  const group = globals.garpGroups.find(({ interfaces }) => typeof device === 'string' && interfaces.includes(device))
  const spacing = seconds(group?.section, 'garp_interval') ?? seconds(all, 'vrrp_garp_interval')
  const spacingNa = seconds(group?.section, 'gna_interval') ?? seconds(all, 'vrrp_gna_interval')

  const fields: Fields = {
    at:
      again &&
      written(
        [0, ...(again.value > 0 ? [again.value] : [])].map((ms) => lasting({ ...again, value: ms })),
        again.at,
      ),
    copies: repeat && written(repeat.value, repeat.at),
    refresh:
      refresh &&
      (refresh.value === 0
        ? written(false, refresh.at)
        : lasting({ ...refresh, value: Math.max(1000, refresh.value) })),
    refreshCopies: refreshCopies && written(refreshCopies.value, refreshCopies.at),
    onRival:
      competingAt &&
      mapping(
        {
          copies: written(competingCopies?.value ?? DEFAULT.copies, competingCopies?.at ?? competingAt),
          delay: lasting({ value: competingDelay?.value ?? DEFAULT.delay, at: competingDelay?.at ?? competingAt }),
        },
        competingAt,
      ),
    spacing: spacing && spacing.value > 0 ? lasting(spacing) : undefined,
    spacingNa: spacingNa && spacingNa.value > 0 ? lasting(spacingNa) : undefined,
  }
  const [first] = Object.values(fields).filter((field) => field !== undefined)
  return first && mapping(fields, first.at)
}

const lasting = ({ value, at }: { readonly value: number; readonly at: Written['at'] }) =>
  written(formatDuration(value), at)

function seconds(section: Section | undefined, keyword: string): Found<number> {
  if (section?.line(keyword) === undefined) return undefined
  return section.seconds(keyword, 0, LONGEST_DELAY, { text: 0 })
}

/** Returns a number of announcement frames: at least `from`, at most the largest number that holdfast sends. */
function integer(section: Section, keyword: string, from: number): Found<number> {
  if (section.line(keyword) === undefined) return undefined
  const found = section.integer(keyword, 0, 999_999_999, { text: from })
  return found && { ...found, value: Math.min(MOST_COPIES, Math.max(from, found.value)) }
}
