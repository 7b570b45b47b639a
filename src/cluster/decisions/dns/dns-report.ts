/**
 * The report of `holdfast corednsmonitor` to the agent of the same node: which wishes its Corefile has, and why the
 * Corefile stays. This file decides how long a report is believed. Pure.
 */
import * as z from 'zod'
import { parseAddress } from '../../../wire/address.ts'
import type { DnsWishes } from './corefile-wishes.ts'

export type DnsReport = {
  /** Wishes in the Corefile in force; `undefined` if this run of the process has not made it. */
  readonly wishes: DnsWishes | undefined
  /** Reason why the Corefile in force stays although it should be replaced; `undefined` if it is up to date. */
  readonly kept: string | undefined
}

/** A report is believed for three intervals and this time in milliseconds. */
const GRACE = 10_000

const schema = z.object({
  everyMs: z.number(),
  wishes: z.object({ apps: z.boolean(), nodes: z.boolean(), apiInt: z.string().optional() }).optional(),
  kept: z.string().optional(),
})

/** Returns the text of a report. `everyMs`: milliseconds until the next one. */
export const reportText = (report: DnsReport, everyMs: number): string => `${JSON.stringify({ everyMs, ...report })}\n`

/** Returns the report in a text; `undefined` if it is no report, or too old. `ageMs`: milliseconds since it was written. */
export function reportIn(text: string, ageMs: number): DnsReport | undefined {
  const read = schema.safeParse(parsed(text))
  if (!read.success || ageMs > 3 * read.data.everyMs + GRACE) return undefined
  const { kept, wishes } = read.data
  if (wishes === undefined) return { wishes, kept }
  return { wishes: { ...wishes, apiInt: wishes.apiInt === undefined ? undefined : parseAddress(wishes.apiInt) }, kept }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
