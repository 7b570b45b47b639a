/**
 * Converts track_script, track_interface, track_file and track_process of an instance or a group to trackers. A tracker
 * without which keepalived would run is ignored, with a warning. This file knows nothing about what a check does.
 */

import { refusedValue } from '../../../base/refused-value.ts'
import type { Line } from '../text/parser.ts'
import { isWholeNumber, leadingNumber, type Section } from '../text/section.ts'
import { type Fields, mapping, type Written, written } from '../written.ts'
import type { Tracked, Weight } from './import-check.ts'

export type Checks = {
  readonly find: (kind: Tracked['kind'], name: string) => Tracked | undefined
  /** Returns the name of the check in holdfast, and makes the check part of the configuration. */
  readonly use: (check: Tracked) => string
}

export type Tracks = {
  readonly entries: readonly Written[]
  readonly weighted: boolean
  readonly refusals: readonly { readonly line: Line; readonly message: string }[]
}

const KINDS: readonly (readonly [string, Tracked['kind']])[] = [
  ['track_script', 'script'],
  ['track_file', 'file'],
  ['track_process', 'process'],
]

/**
 * Returns the trackers of a block. `isOwner`: the instance has priority 255. For such an instance keepalived treats
 * weight 1 of a track file as 0, even if 1 is the default weight of the track file.
 */
export function tracksOf(section: Section, checks: Checks, isOwner = false): Tracks {
  const entries: Written[] = []
  const refusals: { line: Line; message: string }[] = []
  let weighted = false
  const add = (line: Line, subject: Fields, weight: Weight) => {
    if (weight.value !== 0) weighted = true
    const fields: Fields = {
      ...subject,
      weight: weight.value === 0 ? undefined : written(weight.value, line.at),
      reverse: weight.reverse ? written(true, line.at) : undefined,
    }
    entries.push(mapping(fields, line.at))
  }
  for (const line of section.entries('track_interface')) {
    const [name] = line.words
    const weight = weightIn(line, 253, { value: 0, reverse: false }, section)
    if (name === undefined || weight === undefined) continue
    if (weight.reverse) refusals.push({ line, message: `interface "${name.text}" cannot have "reverse"` })
    else add(line, { interface: written(name.text, name.at) }, weight)
  }
  for (const [keyword, kind] of KINDS)
    for (const line of section.entries(keyword)) {
      const [name] = line.words
      if (name === undefined) continue
      const check = checks.find(kind, name.text)
      if (check?.refused !== undefined) refusals.push({ line, message: check.refused })
      else if (check?.fields === undefined)
        section.report.warn(
          name.at,
          check === undefined
            ? `Cannot track "${name.text}": there is no such ${kind}; the tracker is ignored, as in keepalived`
            : `Cannot track "${name.text}": its definition has an error; the tracker is ignored, as in keepalived`,
        )
      else {
        const weight = weightIn(line, kind === 'script' ? 253 : 254, check.weight, section)
        if (weight === undefined) continue
        const isFault = isOwner && kind === 'file' && weight.value === 1
        if (isFault)
          section.report.warn(
            name.at,
            `Weight 1 of "${name.text}" counts as 0 together with priority 255, as in keepalived`,
          )
        add(line, { healthcheck: written(checks.use(check), name.at) }, isFault ? { ...weight, value: 0 } : weight)
      }
    }
  return { entries, weighted, refusals }
}

/** Reads `weight N`, `weight N reverse` and `weight N noreverse`. `undefined` if keepalived does not track the item. */
function weightIn(line: Line, most: number, otherwise: Weight, section: Section): Weight | undefined {
  const [name, keyword, amount, direction] = line.words
  if (keyword === undefined) return otherwise
  const expected = `weight and an integer from -${most} to ${most}`
  const warn = (consequence: string) =>
    section.report.warn(
      keyword.at,
      `${refusedValue(name?.text ?? '', [keyword, amount].flatMap((word) => word?.text ?? []).join(' '), expected)}; ${consequence}, as in keepalived`,
    )
  if (keyword.text !== 'weight' || amount === undefined) {
    warn('the item is not tracked')
    return undefined
  }
  const value = leadingNumber(amount.text)
  if (Math.abs(value) > most) {
    warn(`weight ${otherwise.value} is used`)
    return otherwise
  }
  if (!isWholeNumber(amount.text)) warn(`weight ${value} is used`)
  return { value, reverse: direction?.text === 'reverse' }
}
